#include "guestmem/ended_mapping.h"

#include <sys/mman.h>

#include <algorithm>

namespace paravane {
namespace {

constexpr std::uint64_t kSliceBytes = std::uint64_t{8} << 20;  // below a millisecond

}  // namespace

EndedMapping::~EndedMapping() {
  if (bytes_ != 0) munmap(start_, bytes_);
}

bool EndedMapping::take_down_some() {
  // From the end; start_ and bytes_ are whole pages, and stay so.
  const std::uint64_t slice = std::min(std::max(kSliceBytes, page_bytes_), bytes_);
  if (slice != 0) munmap(start_ + (bytes_ - slice), slice);
  bytes_ -= slice;
  return bytes_ != 0;
}

}  // namespace paravane
