#include "guestmem/ended_mapping.h"

#include <sys/mman.h>

#include <algorithm>

namespace paravane {
namespace {

constexpr std::uint64_t kSliceBytes = std::uint64_t{8} << 20;  // below a millisecond

}  // namespace

EndedMapping::EndedMapping(std::byte* start, std::uint64_t bytes, std::uint64_t page_bytes,
                           std::shared_ptr<EndingMappings> among)
    : start_(start), bytes_(bytes), page_bytes_(page_bytes), among_(std::move(among)) {
  among_->bytes += bytes;
  ++among_->count;
}

bool EndedMapping::take_down_some() {
  take_down(std::min(std::max(kSliceBytes, page_bytes_), bytes_));
  return bytes_ != 0;
}

// From the end; start_ and bytes_ are whole pages, and stay so.
void EndedMapping::take_down(std::uint64_t slice) {
  if (slice == 0) return;
  munmap(start_ + (bytes_ - slice), slice);
  bytes_ -= slice;
  among_->bytes -= slice;
  if (bytes_ == 0) --among_->count;
}

}  // namespace paravane
