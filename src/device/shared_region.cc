#include "device/shared_region.h"

#include <fmt/core.h>

#include <cstring>

namespace paravane::device {
namespace {

constexpr std::string_view kRemedy =
    "start the VM with shared memory: -object memory-backend-memfd,id=mem,size=...,share=on "
    "-machine memory-backend=mem";

bool all_zero(const abi::SharedRegionHead& head) {
  constexpr abi::SharedRegionHead kZero{};
  return std::memcmp(&head, &kZero, sizeof(head)) == 0;
}

}  // namespace

Result<SharedRegion> load_shared_region(GuestMemory& memory, GuestAddr at,
                                        const abi::DeviceCaps& caps) {
  const auto head = memory.read<abi::SharedRegionHead>(at);
  if (!head || at.value > UINT64_MAX - sizeof(abi::SharedRegion)) {
    return fail(Errc::kOutOfRange,
                fmt::format("the shared region at {:#x} is not accessible{}{}", at.value,
                            memory.has_range_without_file() ? "; " : "",
                            memory.has_range_without_file() ? kRemedy : ""));
  }
  const GuestAddr caps_at{at.value + offsetof(abi::SharedRegion, caps)};
  if (const Status status = memory.write(caps_at, caps); !status) {
    return fail(Errc::kOutOfRange,
                fmt::format("the shared region at {:#x} is not writable", at.value));
  }
  if (all_zero(*head)) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("the shared region at {:#x} is all zero, so guest memory is a private copy; {}",
                    at.value, kRemedy));
  }
  SharedRegion region;
  region.driver_version = head->driver_version.get();
  region.command_slot = {head->cmd_slot_dma.get()};
  region.response_slot = {head->resp_slot_dma.get()};
  region.async_ring = {head->async_ring.num_pages.get(), {head->async_ring.pdir_dma.get()}};
  region.completion_ring = {head->cq_ring.num_pages.get(), {head->cq_ring.pdir_dma.get()}};
  region.doorbell_frame = head->uar_pfn.get();
  return region;
}

}  // namespace paravane::device
