#include "device/lost_device.h"

#include <array>
#include <span>

#include "abi/commands.h"
#include "abi/ring_state.h"
#include "device/activation.h"
#include "device/notification_ring.h"
#include "device/notifier.h"

namespace paravane::device {
namespace {

constexpr std::uint32_t kOnlyPort = 1;

void put_fatal_event(PageList pages) {
  NotificationRing ring(std::move(pages), sizeof(abi::AsyncEvent));
  if (ring.resume()) ring.publish(async_notice(abi::kEventDeviceFatal, kOnlyPort));
}

}  // namespace

void tell_that_it_is_lost(GuestMemory& memory, const SharedRegion& region, InterruptLines& lines) {
  const std::array<std::byte, abi::kResponseBytes> to_no_command{};
  static_cast<void>(memory.copy_out(region.response_slot, to_no_command));
  auto rings = map_device_rings(memory, region);
  if (rings) put_fatal_event(std::move(rings->async));
  lines.raise(abi::kVectorResponse);
  lines.raise(abi::kVectorAsync);
  lines.raise(abi::kVectorCompletion);
}

}  // namespace paravane::device
