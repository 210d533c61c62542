// The configuration of one PVRDMA adapter. It contains the limits that the adapter reports to its
// guest, and rules that the operator of the host imposes on all adapters.
//
// Plain values. The default limits are listed in docs/device-spec.md, section 4 ("Capabilities").

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/instant.h"
#include "device/turn_effort.h"
#include "verbs/types.h"

namespace paravane::device {

enum class DoorbellMode : std::uint8_t {
  kMapped,   // user pages are shared memory that the daemon polls, so no VM exits
  kTrapped,  // every doorbell is a message; for VMMs that cannot map BAR2
};

// Quotas, which the device also reports to the guest as capabilities.
struct DeviceLimits {
  std::uint32_t queue_pairs = 16384;          // 2..65535
  std::uint32_t queue_pair_requests = 16384;  // power of two
  std::uint32_t sges = 32;                    // power of two, <= verbs::kMaxSges
  std::uint32_t completion_queues = 65536;
  std::uint32_t completion_queue_entries = 1048576;     // power of two
  std::uint32_t shared_receive_queues = 16384;          // 0: not offered
  std::uint32_t shared_receive_queue_requests = 16384;  // power of two
  std::uint32_t memory_regions = 262144;
  std::uint32_t protection_domains = 65536;
  std::uint32_t address_handles = 65536;
  std::uint32_t contexts = 1024;  // UAR pages, power of two
  std::uint32_t gids = 128;       // <= 256
  std::uint32_t reads_outstanding = 16;
};

// Features that an operator can restrict for all adapters of a host.
struct DeviceRules {
  std::uint32_t datagram_queue_pairs = 0;  // UD alone; 0: as many as `queue_pairs` allows
  bool atomics = true;

  friend bool operator==(const DeviceRules&, const DeviceRules&) = default;
};

struct DeviceConfig {
  std::string name;                   // of the VM, for log lines
  std::array<std::uint8_t, 6> mac{};  // of the paired vmxnet3; GUIDs are derived from it
  std::uint32_t version = 20;         // 17..20, docs/device-spec.md, section 2
  verbs::GidType gid_type = verbs::GidType::kRoceV2;  // 17 forces RoCE v1
  DoorbellMode doorbells = DoorbellMode::kMapped;
  DeviceLimits limits;
  // What a device that is taken over may hold already: a limit that a release has lowered takes
  // nothing from a guest, which can create nothing more until it holds less. Unset: `limits`.
  std::optional<DeviceLimits> held{};
  DeviceRules rules;             // at first; see PvrdmaDevice::set_rules()
  std::uint32_t active_mtu = 5;  // enum ib_mtu: 4096

  // Settings of the doorbell watch (doorbell_watch.h) and of late events (queues/late_events.h).
  Duration watch_ceiling = std::chrono::milliseconds(1);      // longest polling interval
  Duration late_event_after = std::chrono::microseconds(50);  // a completion that was not taken
  std::uint32_t late_event_budget = 1000;                     // per CQ, refilled by observed arms
  std::uint32_t late_event_refill_per_second = 10;

  // The effort that a turn may spend on destroying objects. Tests set a lower value, so that
  // destroying a few objects takes many turns.
  std::uint32_t burial_effort = TurnEffort::kForSlices;

  // What tables have room for, and what a state is compared with.
  const DeviceLimits& held_limits() const { return held ? *held : limits; }
};

}  // namespace paravane::device
