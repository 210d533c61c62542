#include "daemon/port_config.h"

#include <array>

namespace paravane::daemon {
namespace {

using control::VmLimits;
using device::DeviceLimits;

struct LimitPair {
  std::optional<std::uint32_t> VmLimits::* asked;
  std::uint32_t DeviceLimits::* given;
};
constexpr std::array kLimitPairs = {
    LimitPair{&VmLimits::queue_pairs, &DeviceLimits::queue_pairs},
    LimitPair{&VmLimits::queue_pair_requests, &DeviceLimits::queue_pair_requests},
    LimitPair{&VmLimits::sges, &DeviceLimits::sges},
    LimitPair{&VmLimits::completion_queues, &DeviceLimits::completion_queues},
    LimitPair{&VmLimits::completion_queue_entries, &DeviceLimits::completion_queue_entries},
    LimitPair{&VmLimits::shared_receive_queues, &DeviceLimits::shared_receive_queues},
    LimitPair{&VmLimits::shared_receive_queue_requests,
              &DeviceLimits::shared_receive_queue_requests},
    LimitPair{&VmLimits::memory_regions, &DeviceLimits::memory_regions},
    LimitPair{&VmLimits::protection_domains, &DeviceLimits::protection_domains},
    LimitPair{&VmLimits::address_handles, &DeviceLimits::address_handles},
    LimitPair{&VmLimits::contexts, &DeviceLimits::contexts},
    LimitPair{&VmLimits::gids, &DeviceLimits::gids},
    LimitPair{&VmLimits::reads_outstanding, &DeviceLimits::reads_outstanding},
};
static_assert(kLimitPairs.size() == control::kLimitFields.size());

}  // namespace

VmPortConfig make_port_config(const control::VmSpec& spec, const HostConfig& host) {
  VmPortConfig port;
  port.device = host.config.doorbells;
  port.device.name = spec.name;
  port.device.mac = *spec.mac;
  port.device.version = spec.version;
  if (spec.version == control::kMinDeviceVersion) port.device.gid_type = verbs::GidType::kRoceV1;
  port.device.doorbells = spec.doorbells == control::Doorbells::kMapped
                              ? device::DoorbellMode::kMapped
                              : device::DoorbellMode::kTrapped;
  for (const LimitPair& pair : kLimitPairs) {
    if (const auto asked = spec.limits.*pair.asked) port.device.limits.*pair.given = *asked;
  }
  port.memory.bytes = host.config.vfio_user.max_guest_memory;
  port.socket = host.config.vfio_user.socket_dir / (spec.name + ".sock");
  port.access = {.mode = host.config.vfio_user.mode, .group = host.vm_socket_group};
  return port;
}

}  // namespace paravane::daemon
