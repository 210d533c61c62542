// Defines plain values for the hardware of a host in vSphere's terms: physical NICs (vmnicN) and
// RDMA devices (vmrdmaN). All of them are real devices of the host. A device keeps its number
// permanently, even if it is moved to another slot.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/nic_pause.h"

namespace paravane::model {

// The maximum number of devices of a kind, and of counters; further ones are not listed.
inline constexpr std::size_t kMaxNics = 128;
inline constexpr std::size_t kMaxRdmaDevices = 64;
inline constexpr std::size_t kMaxRdmaCounters = 512;

inline constexpr std::string_view kNicPrefix = "vmnic";
inline constexpr std::string_view kRdmaPrefix = "vmrdma";

// IPoIB uplinks are the Ethernet that this host's virtual InfiniBand adapters make of their ports.
// They are called as NICs are, with numbers of their own: "vmnic32" to "vmnic47".
inline constexpr unsigned kFirstIpoibUplink = 32;
inline constexpr unsigned kMaxIpoibUplinks = 16;  // of a host

struct PhysicalNic {
  std::string name{};         // "vmnic0"; empty: it has no number yet
  std::string identity{};     // what it is known again by
  std::string linux_name{};   // "eth1"
  std::string pci{};          // "0000:03:00.0"; empty: not on PCI
  std::string driver{};       // "mlx5_core"
  std::string mac{};          // "02:00:00:00:00:01"
  std::string description{};  // of its maker, and its name in Linux
  std::string team{};         // the bond or team of Linux that it is in; empty: none
  std::uint32_t mtu = 0;
  std::uint32_t speed_mbps = 0;  // 0: no link, or not known
  bool full_duplex = false;
  bool up = false;                    // switched on
  bool carrier = false;               // and something is at the other end
  std::optional<NicPause> pause{};    // nullopt: the driver reports none
  std::optional<std::uint8_t> pfc{};  // priorities that are paused alone; bit 0: priority 0
  bool dcb = false;                   // the driver has Data Center Bridging

  friend bool operator==(const PhysicalNic&, const PhysicalNic&) = default;
};

enum class RdmaState : std::uint8_t { kUnknown, kDown, kInit, kArmed, kActive, kActiveDefer };
// "Active", as vSphere shows it.
std::string_view to_string(RdmaState state);
std::optional<RdmaState> parse_rdma_state(std::string_view text);

// A port of an RDMA device.
struct RdmaDevice {
  std::string name{};        // "vmrdma0"; empty: it has no number yet
  std::string identity{};    // what it is known again by
  std::string linux_name{};  // "mlx5_0"
  std::uint32_t port = 1;
  std::string driver{};
  std::string description{};
  std::string link_layer{};  // "Ethernet", "InfiniBand"
  RdmaState state = RdmaState::kUnknown;
  std::uint32_t mtu = 0;  // active; 0: not known
  std::uint32_t speed_mbps = 0;
  std::string paired_link{};    // the NIC that it is paired with, by Linux's name; empty: none
  std::string paired_uplink{};  // "vmnic4"
  bool roce_v1 = false;
  bool roce_v2 = false;
  bool iwarp = false;
  // ---- What it is used for, which the keeper does not know ----
  std::vector<std::string> trunks{};  // the hosts to which one over it is open, sorted
  std::string uplink_of{};  // the switch whose uplink on this host its NIC is; empty: none

  friend bool operator==(const RdmaDevice&, const RdmaDevice&) = default;
};

struct Machine {
  std::vector<PhysicalNic> nics{};
  std::vector<RdmaDevice> rdma_devices{};

  friend bool operator==(const Machine&, const Machine&) = default;
};

// The counters of an RDMA device, by their names in Linux.
struct RdmaStats {
  std::string name{};                                  // "vmrdma0"
  std::map<std::string, std::uint64_t> counters{};     // "port_rcv_packets"
  std::map<std::string, std::uint64_t> hw_counters{};  // of its driver
  std::map<std::string, std::uint64_t> resources{};    // "qp": how many there are

  friend bool operator==(const RdmaStats&, const RdmaStats&) = default;
};

// "vmrdma0" to "vmrdma999". Errors: kInvalidArgument, with the rule.
Status check_rdma_name(std::string_view name);
// "vmnic2": whether it is one of our names for NICs.
bool is_nic_name(std::string_view name);
// "vmnic32": whether it is a name of an IPoIB uplink.
bool is_ipoib_uplink_name(std::string_view name);
// By either of its names. nullptr: there is none.
const PhysicalNic* nic_named(const Machine& machine, std::string_view name);
// "vmnic2 (eth2)", where both are known.
std::string shown_nic(const PhysicalNic& nic);

}  // namespace paravane::model
