#include "host/port_config.h"

#include <array>

namespace paravane::host {
namespace {

using device::DeviceLimits;
using model::VmLimits;

struct LimitPair {
  std::optional<std::uint32_t> VmLimits::* asked;
  std::uint32_t DeviceLimits::* given;
};
constexpr std::array kLimitPairs = {
    LimitPair{&model::VmLimits::queue_pairs, &DeviceLimits::queue_pairs},
    LimitPair{&model::VmLimits::queue_pair_requests, &DeviceLimits::queue_pair_requests},
    LimitPair{&model::VmLimits::sges, &DeviceLimits::sges},
    LimitPair{&model::VmLimits::completion_queues, &DeviceLimits::completion_queues},
    LimitPair{&model::VmLimits::completion_queue_entries, &DeviceLimits::completion_queue_entries},
    LimitPair{&model::VmLimits::shared_receive_queues, &DeviceLimits::shared_receive_queues},
    LimitPair{&model::VmLimits::shared_receive_queue_requests,
              &DeviceLimits::shared_receive_queue_requests},
    LimitPair{&model::VmLimits::memory_regions, &DeviceLimits::memory_regions},
    LimitPair{&model::VmLimits::protection_domains, &DeviceLimits::protection_domains},
    LimitPair{&model::VmLimits::address_handles, &DeviceLimits::address_handles},
    LimitPair{&model::VmLimits::contexts, &DeviceLimits::contexts},
    LimitPair{&model::VmLimits::gids, &DeviceLimits::gids},
    LimitPair{&model::VmLimits::reads_outstanding, &DeviceLimits::reads_outstanding},
};
// The highest that a limit which no operator has set was in any release: a release that lowers one
// writes here what it was. A limit that was set cannot be lowered while the VM runs.
constexpr DeviceLimits kHighestUnset{};
// And page_list_mib, which is guest memory's and not the device's.
static_assert(kLimitPairs.size() + 1 == model::kLimitFields.size());

// What the VM's hardware version and the adapter's protocol decide. A limit that
// the hardware version does not have is set to 0 here, after those that were asked.
void set_versions(const model::VmSpec& spec, const model::AdapterSpec& adapter,
                  device::DeviceConfig& device) {
  device.version = spec.version;
  device.gid_type = adapter.protocol == model::Protocol::kRoceV1 ? verbs::GidType::kRoceV1
                                                                 : verbs::GidType::kRoceV2;
  if (model::has_shared_receive_queues(spec.hw_version)) return;
  device.limits.shared_receive_queues = 0;
  device.held->shared_receive_queues = 0;
}

}  // namespace

worker::VmPortConfig make_port_config(const model::VmSpec& spec, const model::AdapterSpec& adapter,
                                      const HostConfig& host) {
  worker::VmPortConfig port;
  const settings::DoorbellSettings& doorbells = host.config.doorbells;
  port.device.watch_ceiling = doorbells.watch_ceiling;
  port.device.late_event_after = doorbells.late_event_after;
  port.device.late_event_budget = doorbells.late_event_budget;
  port.device.late_event_refill_per_second = doorbells.late_event_refill_per_second;
  port.adapter = {spec.name, adapter.number};
  port.device.name = to_string(port.adapter);
  port.device.mac = *adapter.mac;
  port.device.doorbells = spec.doorbells == model::Doorbells::kMapped
                              ? device::DoorbellMode::kMapped
                              : device::DoorbellMode::kTrapped;
  DeviceLimits held = kHighestUnset;
  for (const LimitPair& pair : kLimitPairs) {
    const auto asked = spec.limits.*pair.asked;
    if (asked) port.device.limits.*pair.given = *asked;
    if (asked) held.*pair.given = *asked;
  }
  port.device.held = held;
  set_versions(spec, adapter, port.device);
  port.connected = adapter.connected;
  port.memory.bytes = host.config.vfio_user.max_guest_memory;
  port.memory.page_list_bytes = std::uint64_t{spec.limits.page_list_mib.value_or(0)} << 20;
  port.socket = host.config.vfio_user.socket_dir / model::socket_file(spec.name, adapter.number);
  port.access = {.mode = host.config.vfio_user.mode, .group = host.vm_socket_group};
  return port;
}

std::vector<model::AdapterName> adapter_names(const model::VmSpec& spec) {
  std::vector<model::AdapterName> names;
  names.reserve(spec.adapters.size());
  for (const model::AdapterSpec& adapter : spec.adapters) {
    names.push_back({spec.name, adapter.number});
  }
  return names;
}

}  // namespace paravane::host
