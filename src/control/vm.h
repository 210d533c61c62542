// What the management interface knows of a VM: what was asked for (VmSpec, kept
// over restarts) and how it is at the moment (VmStatus). Plain values; the rules
// of what may be asked for stand beside them.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "control/mac_address.h"

namespace paravane::control {

inline constexpr std::size_t kMaxNameLength = 63;

// [a-z0-9][a-z0-9_.-]{0,62}: names become file names, log subjects and paths of
// the API. Errors: kInvalidArgument with the rule.
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

// Every limit, once: JSON, validation, command line and documents follow it.
inline constexpr std::array kLimitFields = {
    LimitField{"queue_pairs", &VmLimits::queue_pairs, 2, 65535, false, "queue pairs"},
    LimitField{"queue_pair_requests", &VmLimits::queue_pair_requests, 2, 65536, true,
               "work requests per queue"},
    LimitField{"sges", &VmLimits::sges, 1, 32, true, "pieces of memory per work request"},
    LimitField{"completion_queues", &VmLimits::completion_queues, 2, 1u << 20, false,
               "completion queues"},
    LimitField{"completion_queue_entries", &VmLimits::completion_queue_entries, 2, 1u << 22, true,
               "entries per completion queue"},
    LimitField{"shared_receive_queues", &VmLimits::shared_receive_queues, 0, 65536, false,
               "shared receive queues; 0: not offered"},
    LimitField{"shared_receive_queue_requests", &VmLimits::shared_receive_queue_requests, 1,
               1u << 17, true, "work requests per shared receive queue"},
    LimitField{"memory_regions", &VmLimits::memory_regions, 1, 1u << 22, false, "memory regions"},
    LimitField{"protection_domains", &VmLimits::protection_domains, 1, 1u << 20, false,
               "protection domains"},
    LimitField{"address_handles", &VmLimits::address_handles, 1, 1u << 20, false,
               "address handles"},
    LimitField{"contexts", &VmLimits::contexts, 2, 65536, true, "programs that use RDMA at once"},
    LimitField{"gids", &VmLimits::gids, 1, 256, false, "addresses (GIDs)"},
    LimitField{"reads_outstanding", &VmLimits::reads_outstanding, 1, 128, false,
               "RDMA READs under way per queue pair"},
};

inline constexpr std::uint32_t kMinDeviceVersion = 17;
inline constexpr std::uint32_t kMaxDeviceVersion = 20;

struct VmSpec {
  std::string name;
  std::optional<MacAddress> mac;  // unset in a request: chosen by the daemon
  std::uint32_t version = kMaxDeviceVersion;
  Doorbells doorbells = Doorbells::kMapped;
  VmLimits limits;

  friend bool operator==(const VmSpec&, const VmSpec&) = default;
};

// Errors: kInvalidArgument, naming the property and what it may be.
Status check_spec(const VmSpec& spec);

enum class VmState : std::uint8_t {
  kDetached,  // no VMM is connected
  kAttached,  // a VMM is connected, the guest's driver is not running
  kActive,    // the guest's driver has activated the device
  kFailed,    // the adapter could not be made; see VmStatus::problem
};
std::string_view to_string(VmState state);
std::optional<VmState> parse_vm_state(std::string_view text);

struct VmStatus {
  VmSpec spec;
  std::string socket;  // the vfio-user socket that the VMM connects to
  VmState state = VmState::kDetached;
  int pid = 0;          // of the VMM; 0: none
  std::string problem;  // empty: none

  friend bool operator==(const VmStatus&, const VmStatus&) = default;
};

}  // namespace paravane::control
