// Finds the memory that a scatter/gather list describes, as if the list were one contiguous range
// of bytes.

#pragma once

#include <cstdint>

#include "guestmem/extent.h"
#include "verbs/memory_region.h"
#include "verbs/work_request.h"

namespace paravane::verbs {

// Bytes [offset, offset+length) of the range that a list of SGEs describes.
struct Stretch {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// Appends the extents of a stretch of the list to `out`; on anything but kOk, what was appended is
// unspecified. Elements that have length 0 or are outside the stretch are not checked. REQUIRES:
// stretch.offset + stretch.length <= sges.total_bytes().
AccessVerdict resolve_sges(MemoryRegionTable& regions, PdNumber pd, const SgeList& sges,
                           Stretch stretch, AccessMask need, ExtentList& out);

// The same check for the first `length` bytes, without extents.
AccessVerdict check_sges(MemoryRegionTable& regions, PdNumber pd, const SgeList& sges,
                         std::uint64_t length, AccessMask need);

}  // namespace paravane::verbs
