// Walks over a scatter/gather list as if it were one contiguous range of bytes.

#pragma once

#include <cstdint>

#include "guestmem/extent.h"
#include "verbs/memory_region.h"
#include "verbs/work_request.h"

namespace paravane::verbs {

// Bytes [offset, offset+length) of what a list of SGEs names.
struct Stretch {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// Appends the extents of a stretch of the list to `out`; on anything but kOk what
// was appended is unspecified. Elements of length 0 are never looked at, nor those
// outside the stretch.
// REQUIRES: stretch.offset + stretch.length <= sges.total_bytes().
AccessVerdict resolve_sges(MemoryRegionTable& regions, PdNumber pd, const SgeList& sges,
                           Stretch stretch, AccessMask need, ExtentList& out);

// The same judgement for the first `length` bytes, without extents.
AccessVerdict check_sges(MemoryRegionTable& regions, PdNumber pd, const SgeList& sges,
                         std::uint64_t length, AccessMask need);

}  // namespace paravane::verbs
