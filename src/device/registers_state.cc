// What is saved of the registers, of what they control, and of the shared region.

#include "abi/registers.h"
#include "device/interrupt_lines.h"
#include "device/registers.h"
#include "device/shared_region.h"

namespace paravane::device {
namespace {

using state::Tag;

// Of the interrupt lines.
constexpr Tag kLineMask{1};
constexpr Tag kLineCauses{2};
constexpr Tag kLinesHeld{3};
constexpr std::uint64_t kEveryLine = (1u << abi::kInterruptVectors) - 1;

// Of the registers.
constexpr Tag kDsrLow{1};
constexpr Tag kRegisterError{2};
constexpr Tag kMacLow{3};
constexpr Tag kMacHigh{4};

// Of the shared region.
constexpr Tag kDriverVersion{1};
constexpr Tag kCommandSlot{2};
constexpr Tag kResponseSlot{3};
constexpr Tag kAsyncPages{4};
constexpr Tag kAsyncDirectory{5};
constexpr Tag kCompletionPages{6};
constexpr Tag kCompletionDirectory{7};
constexpr Tag kDoorbellFrame{8};

std::uint32_t word_in(state::Reader& in, Tag tag, std::uint64_t most = UINT32_MAX) {
  return static_cast<std::uint32_t>(in.number(tag, most));
}

}  // namespace

void InterruptLines::save(state::Writer& out) const {
  out.number(kLineMask, mask_);
  out.number(kLineCauses, causes_);
  out.number(kLinesHeld, held_);
}

void InterruptLines::load(state::Reader& in) {
  mask_ = word_in(in, kLineMask);
  causes_ = word_in(in, kLineCauses, kEveryLine);
  held_ = word_in(in, kLinesHeld, kEveryLine);
  in.end();
  in.expect((held_ & ~mask_) == 0, "an interrupt is held back that is not masked");
}

void Registers::save(state::Writer& out) const {
  out.number(kDsrLow, dsr_low_);
  out.number(kRegisterError, error_);
  out.number(kMacLow, mac_low_);
  out.number(kMacHigh, mac_high_);
}

void Registers::load(state::Reader& in) {
  dsr_low_ = word_in(in, kDsrLow);
  error_ = word_in(in, kRegisterError);
  mac_low_ = word_in(in, kMacLow);
  mac_high_ = word_in(in, kMacHigh, UINT16_MAX);
  in.end();
}

void save(const SharedRegion& region, state::Writer& out) {
  out.number(kDriverVersion, region.driver_version);
  out.number(kCommandSlot, region.command_slot.value);
  out.number(kResponseSlot, region.response_slot.value);
  out.number(kAsyncPages, region.async_ring.pages);
  out.number(kAsyncDirectory, region.async_ring.directory.value);
  out.number(kCompletionPages, region.completion_ring.pages);
  out.number(kCompletionDirectory, region.completion_ring.directory.value);
  out.number(kDoorbellFrame, region.doorbell_frame);
}

// As load_shared_region() reads it: any number, which is judged when it is used.
SharedRegion load_saved_region(state::Reader& in) {
  SharedRegion region;
  region.driver_version = word_in(in, kDriverVersion);
  region.command_slot = {in.number(kCommandSlot)};
  region.response_slot = {in.number(kResponseSlot)};
  region.async_ring.pages = word_in(in, kAsyncPages);
  region.async_ring.directory = {in.number(kAsyncDirectory)};
  region.completion_ring.pages = word_in(in, kCompletionPages);
  region.completion_ring.directory = {in.number(kCompletionDirectory)};
  region.doorbell_frame = in.number(kDoorbellFrame);
  in.end();
  return region;
}

}  // namespace paravane::device
