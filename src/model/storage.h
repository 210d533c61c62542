// Defines plain values for a host's SRP storage adapters (vmhbas): their targets, the paths to
// logical units, and the devices that these are.
//
// The words are those of esxcli and of Mellanox's InfiniBand OFED Driver for VMware, Installation
// Guide, 4.4.3.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/mac_address.h"

namespace paravane::model {

inline constexpr unsigned kFirstVmhba = 32;             // vmhba32, as the guide numbers them
inline constexpr std::size_t kMaxVmhbas = 16;           // of a host
inline constexpr std::size_t kMaxSrpTargets = 64;       // of a vmhba, named or found
inline constexpr std::size_t kMaxLuns = 256;            // of a target
inline constexpr std::size_t kMaxDevices = 1024;        // of a host
inline constexpr std::size_t kMaxStorageCounters = 64;  // of a vmhba or a device
// A device's name is also that of its socket, whose path has at most 107 bytes.
inline constexpr std::size_t kMaxDeviceName = 72;

// What an operator sets of a vmhba; the adapters' ports and module ib_srp decide that it exists.
struct VmhbaSetting {
  // The port group whose VMs and native endpoints are reached; empty: the host's built-in switch.
  std::string port_group{};
  // For targets that are no VM of ours, in a port group with native RoCE: "192.0.2.9/24"; empty:
  // none, and only those with link-local GIDs are reached.
  std::string ipv4{};
  std::string gateway{};  // empty: none

  friend bool operator==(const VmhbaSetting&, const VmhbaSetting&) = default;
};

// "vmhba32" to "vmhba47". Errors: kInvalidArgument, with the rule.
Status check_vmhba_name(std::string_view name);
// An address needs a port group and is that of one host; a gateway needs an address, and is another
// host of its network. Errors: kInvalidArgument, with the rule.
Status check_vmhba_setting(const VmhbaSetting& setting);

struct Vmhba {
  std::string name{};         // "vmhba32"
  std::string adapter{};      // "mlx4_0"
  std::string device{};       // "MT26428"
  std::string description{};  // "ConnectX IB QDR, PCIe 2.0 5.0GT/s"
  std::uint32_t port = 0;
  std::uint64_t port_guid = 0;
  std::string initiator{};  // its port identifier, which a target's access list names: "0xfe80..."
  VmhbaSetting setting{};
  bool is_up = false;         // its port is Active
  std::uint32_t targets = 0;  // that are logged in
  std::map<std::string, std::uint64_t> counters{};
  // Why no target can be reached, or some of it does not work, and what to do; empty: all is well.
  std::string problem{};

  friend bool operator==(const Vmhba&, const Vmhba&) = default;
};

// A target as an operator names it, because it answers no device management.
struct SrpTarget {
  std::string vmhba{};
  // "fe80::5054:ff:fe77:1" and a service ID, for a login by InfiniBand's connection manager; or an
  // IPv4 address and a port, for one by RDMA's.
  std::string address{};
  std::optional<std::uint64_t> service{};
  std::optional<std::uint16_t> port{};
  std::uint64_t id_ext = 0;
  std::uint64_t ioc_guid = 0;

  friend bool operator==(const SrpTarget&, const SrpTarget&) = default;
};

// A GID with a service ID, or a GID or an IPv4 address with a port; both identifiers are not zero.
// Errors: kInvalidArgument, with the rule.
Status check_srp_target(const SrpTarget& target);
// "vmhba32 to fe80::5054:ff:fe77:1, id_ext 0x5254000000770001, ioc_guid 0x5254000000770001".
std::string describe(const SrpTarget& target);

enum class TargetState : std::uint8_t {
  kConnecting,
  kLoggedIn,
  kLost,     // it was logged in; a login is tried again
  kRefused,  // the target refuses the login; it is tried again
};
std::string_view to_string(TargetState state);  // "connecting", "logged in", "lost", "refused"
std::optional<TargetState> parse_target_state(std::string_view text);

struct SrpTargetStatus {
  SrpTarget target{};
  std::uint32_t number = 0;   // of the target at its vmhba: T in vmhba32:C0:T0:L0
  bool is_named = false;      // by an operator; false: found by device management
  std::string description{};  // "Linux SRP target"; empty: not known
  TargetState state = TargetState::kConnecting;
  std::uint32_t luns = 0;
  std::string problem{};  // why it is not logged in, and what to do; empty: it is

  friend bool operator==(const SrpTargetStatus&, const SrpTargetStatus&) = default;
};

enum class PathState : std::uint8_t {
  kActive,   // commands go by it
  kStandby,  // it works; commands go by another
  kDead,     // the target, or the logical unit at it, is gone
};
std::string_view to_string(PathState state);  // "active", "standby", "dead"
std::optional<PathState> parse_path_state(std::string_view text);

struct LunPath {
  std::string name{};  // "vmhba32:C0:T0:L0"
  std::string vmhba{};
  std::uint32_t target = 0;
  std::uint32_t lun = 0;
  std::string device{};              // "naa.6001405..."; empty: the logical unit is not offered
  std::string adapter_identifier{};  // "srp.0250560001a2b301"
  std::string target_identifier{};   // "srp.<id_ext>:<ioc_guid>", 16 digits each
  PathState state = PathState::kDead;
  bool is_preferred = false;
  std::string problem{};  // of a path that is dead, or a logical unit that is not offered

  friend bool operator==(const LunPath&, const LunPath&) = default;
};

// ---- Names ----

std::string srp_adapter_identifier(std::uint64_t port_guid);  // "srp.0250560001a2b301"
// "srp.5254000000770001:5254000000770001"
std::string srp_target_identifier(std::uint64_t id_ext, std::uint64_t ioc_guid);
// "vmhba32:C0:T0:L0"
std::string lun_path_name(std::string_view vmhba, std::uint32_t target, std::uint32_t lun);
// "naa.", "eui." or "t10.", then letters, digits, '_', '-' and '.'. Errors: kInvalidArgument, with
// the rule.
Status check_device_name(std::string_view name);
// Where a device is served: "/run/paravane/vms/naa.6001405....lun". `directory`: that of the
// sockets of VMs.
std::string lun_socket(std::string_view directory, std::string_view device);

// A logical unit, by whichever paths it is reached.
struct ScsiDevice {
  std::string name{};          // "naa.6001405...", "eui...", "t10..."
  std::string display_name{};  // "LIO-ORG SRP Disk (naa.6001405...)"
  std::string vendor{};
  std::string model{};
  std::string revision{};
  std::uint64_t bytes = 0;
  std::uint32_t block_bytes = 0;
  bool is_read_only = false;
  bool is_thin = false;        // blocks can be given back (UNMAP)
  std::string working_path{};  // "vmhba32:C0:T0:L0"; empty: none works
  std::vector<LunPath> paths{};
  std::string socket{};  // where it is served by NBD; empty: it is not
  std::string vm{};      // whose disk it is, by the VM's configuration; empty: none's
  bool is_open = false;  // an NBD client is connected
  std::map<std::string, std::uint64_t> counters{};
  std::string problem{};  // why it cannot be used, and what to do; empty: it can

  friend bool operator==(const ScsiDevice&, const ScsiDevice&) = default;
};

}  // namespace paravane::model
