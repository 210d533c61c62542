#include "device/activation.h"

#include <fmt/core.h>

#include "abi/commands.h"
#include "guestmem/extent.h"

namespace paravane::device {
namespace {

Status check_slot(GuestMemory& memory, std::string_view name, GuestAddr at, std::uint64_t bytes,
                  Rights need) {
  ExtentList extents;
  if (memory.resolve(at, bytes, need, extents) == Reach::kOk) return {};
  return fail(Errc::kOutOfRange,
              fmt::format("the {} slot at {:#x} is not accessible", name, at.value));
}

Result<PageList> map_ring(GuestMemory& memory, std::string_view name, const GuestRing& ring) {
  if (ring.pages < kMinRingPages || ring.pages > kMaxRingPagesOfDevice) {
    return fail(Errc::kInvalidArgument, fmt::format("the {} ring has {} pages", name, ring.pages));
  }
  Result<PageList> pages =
      PageList::from_directory(memory, ring.directory, ring.pages, Rights::kReadWrite);
  if (pages) return pages;
  return fail(pages.error().code, fmt::format("the {} ring: {}", name, pages.error().message));
}

}  // namespace

Result<DeviceRings> map_device_rings(GuestMemory& memory, const SharedRegion& region) {
  if (Status slot =
          check_slot(memory, "command", region.command_slot, abi::kRequestBytes, Rights::kRead);
      !slot) {
    return std::unexpected(slot.error());
  }
  if (Status slot =
          check_slot(memory, "response", region.response_slot, abi::kResponseBytes, Rights::kWrite);
      !slot) {
    return std::unexpected(slot.error());
  }
  Result<PageList> async = map_ring(memory, "async event", region.async_ring);
  if (!async) return std::unexpected(async.error());
  Result<PageList> completion = map_ring(memory, "completion notification", region.completion_ring);
  if (!completion) return std::unexpected(completion.error());
  return DeviceRings{std::move(*completion), std::move(*async)};
}

}  // namespace paravane::device
