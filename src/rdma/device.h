// Defines plain values that describe a port of an RDMA device of this host, and its counters, as
// the kernel's RDMA subsystem reports them.

#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace paravane::rdma {

// As the kernel numbers them.
enum class PortState : std::uint8_t {
  kUnknown = 0,
  kDown = 1,
  kInit = 2,
  kArmed = 3,
  kActive = 4,
  kActiveDefer = 5,
};

struct Port {
  std::string device;        // Linux's name: "mlx5_0"
  std::uint32_t number = 1;  // of the port
  std::string driver{};      // "mlx5_core"
  std::string pci{};         // "0000:03:00.0"; empty: not on PCI, as of a program
  std::string link_layer{};  // "Ethernet", "InfiniBand"
  PortState state = PortState::kUnknown;
  std::uint32_t mtu = 0;  // active, in bytes; 0: not known
  std::uint32_t speed_mbps = 0;
  std::string net_device{};  // the NIC that it is paired with; empty: none
  bool roce_v1 = false;
  bool roce_v2 = false;
  bool iwarp = false;

  friend bool operator==(const Port&, const Port&) = default;
};

// Keyed by the kernel's names: of files ("port_rcv_packets") and of resources ("qp").
struct PortCounters {
  std::map<std::string, std::uint64_t> counters{};     // of every device
  std::map<std::string, std::uint64_t> hw_counters{};  // of this driver
  std::map<std::string, std::uint64_t> resources{};    // of the whole device: how many there are

  friend bool operator==(const PortCounters&, const PortCounters&) = default;
};

}  // namespace paravane::rdma
