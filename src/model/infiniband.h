// Defines plain values for a host's virtual InfiniBand adapters and its part of the subnet: what an
// operator asks for, and what became of it.
//
// The words are those of Mellanox's InfiniBand OFED Driver for VMware, Installation Guide, and of
// infiniband-diags.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/ib_port_type.h"
#include "model/mac_address.h"

namespace paravane::model {

inline constexpr std::size_t kMaxIbAdapters = 16;  // of a host
inline constexpr std::uint32_t kMaxPciBus = 255;
inline constexpr std::size_t kMaxIbUplinkCounters = 64;

// A virtual adapter, as an operator adds it.
struct IbAdapter {
  std::string name{};     // "mlx4_0"
  std::string device{};   // "MT26428": a model of table 2 of the guide
  std::uint32_t bus = 0;  // number of its PCI bus, which module parameters name it by
  // By port: the NIC of the host ("eth1") that the port stands for while its type is Ethernet.
  std::map<std::uint32_t, std::string> ethernet{};

  friend bool operator==(const IbAdapter&, const IbAdapter&) = default;
};

// At most 19 characters, as libibumad has room for: letters, digits, '_' and '-', a letter first.
// Errors: kInvalidArgument.
Status check_ib_adapter_name(std::string_view name);
// Errors: kInvalidArgument: with the device's name and the names that exist; a NIC of a port that
// the device does not have, or whose name Linux would not take.
Status check_ib_adapter(const IbAdapter& adapter);

// The GUID of a node, derived from a name: locally administered, with room for the numbers of its
// ports in the lowest byte. `attempt`: counts up when the GUID is taken.
std::uint64_t ib_guid_for_name(std::string_view name, unsigned attempt = 0);

// The states of a port, as InfiniBand numbers them.
enum class IbPortState : std::uint8_t { kUnknown, kDown, kInitializing, kArmed, kActive };
// "Active", as ibstat shows it.
std::string_view to_string(IbPortState state);
std::optional<IbPortState> parse_ib_port_state(std::string_view text);

struct IbPort {
  std::uint32_t number = 0;
  IbPortType type = IbPortType::kInfiniband;
  std::string nic{};  // of type Ethernet: the NIC that it stands for; empty: none was given
  std::uint64_t guid = 0;
  IbPortState state = IbPortState::kUnknown;
  std::uint32_t rate_gbps = 0;              // of the link, or what it could have
  std::uint32_t lid = 0;                    // 0: no subnet manager has given one
  std::uint32_t sm_lid = 0;                 // of the subnet manager; 0: none is known
  bool is_sm = false;                       // a subnet manager runs at this port
  std::uint32_t mtu = 0;                    // bytes of a packet's payload
  std::vector<std::uint16_t> partitions{};  // keys, without empty places
  // Why it is not Active, and what to do; empty: it is.
  std::string problem{};

  friend bool operator==(const IbPort&, const IbPort&) = default;
};

struct IbAdapterStatus {
  IbAdapter adapter{};
  std::string description{};  // "ConnectX IB QDR, PCIe 2.0 5.0GT/s"
  std::uint64_t guid = 0;     // of the node
  std::vector<IbPort> ports{};
  std::string problem{};  // why it was not made, and has no ports; empty: it was

  friend bool operator==(const IbAdapterStatus&, const IbAdapterStatus&) = default;
};

// A partition that an IPoIB uplink uses.
struct IbUplinkPartition {
  std::uint32_t vlan = 0;  // 0: of frames without a tag
  std::uint16_t key = 0;   // 0: it is not joined
  std::uint32_t mtu = 0;   // bytes of an IP packet; 0: it is not joined
  std::string problem{};   // why it is not joined, and what to do; empty: it is

  friend bool operator==(const IbUplinkPartition&, const IbUplinkPartition&) = default;
};

// An uplink NIC of a distributed switch that a port makes: one of several (ipoib_uplink_num).
struct IbUplink {
  std::string name{};     // "vmnic32"
  std::string adapter{};  // "mlx4_0"
  std::string device{};   // "MT26428"
  std::uint32_t port = 0;
  bool has_net_queue = false;
  MacAddress mac{};             // derived from the port's GUID; no frame carries it
  std::uint32_t rate_gbps = 0;  // of the link; 0: it is down
  std::string vds{};            // whose uplink it is; empty: of no switch
  std::uint32_t mtu = 0;        // of that switch
  std::vector<IbUplinkPartition> partitions{};
  std::uint32_t addresses = 0;  // MAC addresses of VMs that have a queue pair
  std::map<std::string, std::uint64_t> counters{};
  // Why no frame can pass, and what to do; empty: frames pass.
  std::string problem{};

  friend bool operator==(const IbUplink&, const IbUplink&) = default;
};

// A port of the host's switch that something is linked to.
struct IbLink {
  std::uint32_t port = 0;
  std::string peer{};  // "mlx4_0 port 1", "host h2"
  IbPortState state = IbPortState::kUnknown;
  std::uint64_t sent_packets = 0;
  std::uint64_t received_packets = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t dropped = 0;  // without a way, against a partition, to a link that is down or full
  // Of `dropped`: management from where none is taken.
  std::uint64_t management_dropped = 0;
  bool refuses_manager = false;  // some of it came within the last minute; not told by the API
  // Of a cable: why it is down, or what does not pass, and what to do; empty: all is well.
  std::string problem{};

  friend bool operator==(const IbLink&, const IbLink&) = default;
};

// A host whose subnet manager is heard on this host.
struct IbManager {
  std::string host{};
  std::string problem{};  // why nothing can be heard from there; empty: it can

  friend bool operator==(const IbManager&, const IbManager&) = default;
};

struct IbFabric {
  std::string host{};
  std::uint64_t switch_guid = 0;  // 0: there is no adapter, so there is no switch
  std::uint32_t switch_lid = 0;
  std::uint32_t sm_lid = 0;
  std::vector<IbLink> links{};
  std::string umad_socket{};  // of the daemon, for programs that use libibumad; empty: not known

  friend bool operator==(const IbFabric&, const IbFabric&) = default;
};

}  // namespace paravane::model
