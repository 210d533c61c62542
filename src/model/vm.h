// Defines plain values for a VM and its adapters, and the rules for them. VmSpec is the
// configuration, which is stored and survives a restart. VmStatus adds the current state.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/hardware_version.h"
#include "model/link_fault.h"
#include "model/mac_address.h"
#include "model/vm_machine.h"

namespace paravane::model {

inline constexpr std::size_t kMaxNameLength = 63;

// Suggests a valid name that is similar to `name`, such as "my-vm" for "My VM". Empty: there is
// none.
std::string nearest_good_name(std::string_view name);

// A name must match [a-z0-9][a-z0-9_.-]{0,62}, because names are used as file names, in log lines
// and in paths of the API. Errors: kInvalidArgument, with the rule and a suggestion.
Status check_name(std::string_view name);

enum class Doorbells : std::uint8_t {
  kMapped,   // user pages are shared memory: no VM exit
  kTrapped,  // every doorbell is a message
};
std::string_view to_string(Doorbells doorbells);
std::optional<Doorbells> parse_doorbells(std::string_view text);

// Quotas of one adapter. Unset: the device's default.
struct VmLimits {
  std::optional<std::uint32_t> queue_pairs;
  std::optional<std::uint32_t> queue_pair_requests;
  std::optional<std::uint32_t> sges;
  std::optional<std::uint32_t> completion_queues;
  std::optional<std::uint32_t> completion_queue_entries;
  std::optional<std::uint32_t> shared_receive_queues;
  std::optional<std::uint32_t> shared_receive_queue_requests;
  std::optional<std::uint32_t> memory_regions;
  std::optional<std::uint32_t> protection_domains;
  std::optional<std::uint32_t> address_handles;
  std::optional<std::uint32_t> contexts;
  std::optional<std::uint32_t> gids;
  std::optional<std::uint32_t> reads_outstanding;
  std::optional<std::uint32_t> page_list_mib;

  friend bool operator==(const VmLimits&, const VmLimits&) = default;
};

struct LimitField {
  std::string_view name;
  std::optional<std::uint32_t> VmLimits::* member;
  std::uint32_t min;
  std::uint32_t max;
  bool power_of_two;
  std::string_view help;
};

// The table of all limits, from which JSON, validation, command line and documents are derived.
inline constexpr std::array kLimitFields = {
    LimitField{"queue_pairs", &VmLimits::queue_pairs, 2, 65535, false, "queue pairs"},
    LimitField{"queue_pair_requests", &VmLimits::queue_pair_requests, 2, 65536, true,
               "work requests per queue"},
    LimitField{"sges", &VmLimits::sges, 1, 32, true, "scatter/gather entries per work request"},
    LimitField{"completion_queues", &VmLimits::completion_queues, 2, 1u << 20, false,
               "completion queues"},
    LimitField{"completion_queue_entries", &VmLimits::completion_queue_entries, 2, 1u << 22, true,
               "entries per completion queue"},
    LimitField{"shared_receive_queues", &VmLimits::shared_receive_queues, 0, 65536, false,
               "shared receive queues; 0: disabled"},
    LimitField{"shared_receive_queue_requests", &VmLimits::shared_receive_queue_requests, 1,
               1u << 17, true, "work requests per shared receive queue"},
    LimitField{"memory_regions", &VmLimits::memory_regions, 1, 1u << 22, false, "memory regions"},
    LimitField{"protection_domains", &VmLimits::protection_domains, 1, 1u << 20, false,
               "protection domains"},
    LimitField{"address_handles", &VmLimits::address_handles, 1, 1u << 20, false,
               "address handles"},
    LimitField{"contexts", &VmLimits::contexts, 2, 65536, true,
               "user contexts: programs that use RDMA at the same time"},
    LimitField{"gids", &VmLimits::gids, 1, 256, false, "addresses (GIDs)"},
    LimitField{"reads_outstanding", &VmLimits::reads_outstanding, 1, 128, false,
               "outstanding RDMA READs per queue pair"},
    LimitField{"page_list_mib", &VmLimits::page_list_mib, 0, 1u << 20, false,
               "MiB for the daemon's lists of registered pages; 0: derived from guest memory"},
};

// An unset limit is valid. Errors: kInvalidArgument, with the range of the limit.
Status check_limit(const LimitField& field, const VmLimits& limits);

inline constexpr std::uint32_t kMaxAdapters = 8;  // of one VM; vSphere has 1

// One adapter of a VM. An operator refers to it by its number, 1 to 8, which does not change when
// other adapters are removed.
struct AdapterSpec {
  std::uint32_t number = 1;
  std::optional<MacAddress> mac{};  // unset in a request: chosen by the daemon
  Protocol protocol = Protocol::kRoceV2;
  bool connected = true;  // to the switch: its link is up
  // The port group of a distributed switch that the adapter is in; its NIC then has a tap. Empty:
  // the adapter is in this host's built-in switch, and its NIC is connected elsewhere.
  std::string port_group{};

  friend bool operator==(const AdapterSpec&, const AdapterSpec&) = default;
};

struct VmSpec {
  std::string name;
  std::uint32_t hw_version = kMaxHardwareVersion;
  std::uint32_t version = kMaxDeviceVersion;  // of the device
  Doorbells doorbells = Doorbells::kMapped;
  VmLimits limits;                                   // of each adapter
  std::vector<AdapterSpec> adapters{AdapterSpec{}};  // by number; 1 is always there
  VmMachine machine{};                               // for VMs that Paravane runs

  friend bool operator==(const VmSpec&, const VmSpec&) = default;
};

// Errors: kInvalidArgument, with the property and its valid values.
Status check_spec(const VmSpec& spec);
Status check_mac(const AdapterSpec& adapter);
// An empty text is valid.
Status check_adapter_group(std::string_view port_group);

// nullptr: there is no adapter with this number.
const AdapterSpec* find_adapter(const VmSpec& spec, std::uint32_t number);
AdapterSpec* find_adapter(VmSpec& spec, std::uint32_t number);

// "db1.sock" for the first adapter of VM db1, "db1.2.sock" for the second. A VM may also be named
// "db1.2", so a caller that adds an adapter must check that the file name is free.
std::string socket_file(std::string_view vm, std::uint32_t number);

// The state of one adapter of a VM.
enum class VmState : std::uint8_t {
  kDetached,  // no VMM is connected
  kAttached,  // a VMM is connected, the guest's driver is not running
  kActive,    // the guest's driver has activated the device
  kFailed,    // the adapter could not be made; see AdapterStatus::problem
  kDead,  // a VMM is connected, and its guest goes on with an adapter that it has not configured
  kLost,  // a VMM is connected; the objects of its guest's driver ended with an engine
};
std::string_view to_string(VmState state);
// Whether a VMM is connected.
bool has_vmm(VmState state);
// What is known of an adapter in state kDead, and the cures, which the guest has to take.
inline constexpr std::string_view kDeadCure =
    "echo 1 >/sys/bus/pci/devices/ADDRESS/remove; echo 1 >/sys/bus/pci/rescan";
inline constexpr std::string_view kDeadAdapter =
    "its VMM has reset it and loaded a state of the guest without that of the adapter, as by a "
    "migration or a snapshot of QEMU's own; reboot the guest, or in the guest, with the adapter's "
    "ADDRESS of lspci -D: echo 1 >/sys/bus/pci/devices/ADDRESS/remove; echo 1 "
    ">/sys/bus/pci/rescan";
// The same of an adapter in state kLost.
inline constexpr std::string_view kLostCure = "modprobe -r vmw_pvrdma; modprobe vmw_pvrdma";
inline constexpr std::string_view kLostAdapter =
    "the engine that served it was killed, and the guest's RDMA objects ended with it; in the "
    "guest, end the programs that use RDMA, then: modprobe -r vmw_pvrdma; modprobe vmw_pvrdma; or "
    "reboot the guest";
std::optional<VmState> parse_vm_state(std::string_view text);

// How an adapter reaches native RoCE endpoints.
struct RoceStatus {
  bool open = false;         // it does, through its RoCE port
  bool superframes = false;  // the kernel cuts what it sends into packets
  std::string closed{};      // why it does not; empty while its port is being opened
  // Why the kernel does not merge all packets that it receives into larger frames; empty: it does.
  std::string unmerged{};

  friend bool operator==(const RoceStatus&, const RoceStatus&) = default;
};

struct AdapterStatus {
  std::string socket{};  // the vfio-user socket that the VMM connects to
  VmState state = VmState::kDetached;
  int pid = 0;            // of the VMM; 0: none
  std::string problem{};  // empty: none
  LinkFault fault{};      // the cause, where the problem is one of the tap
  std::string tap{};      // what the NIC beside it is put on; empty: it has no port group
  RoceStatus roce{};

  friend bool operator==(const AdapterStatus&, const AdapterStatus&) = default;
};

struct VmStatus {
  VmSpec spec;
  std::vector<AdapterStatus> adapters;  // one for each of spec.adapters, in their order
  std::string revision{};               // of `spec`, by revision_of(); empty: not told

  friend bool operator==(const VmStatus&, const VmStatus&) = default;
};

}  // namespace paravane::model
