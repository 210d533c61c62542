// Walks over a scatter/gather list as over one stretch of bytes.

#pragma once

#include <cstdint>

#include "guestmem/extent.h"
#include "verbs/memory_region.h"
#include "verbs/work_request.h"

namespace paravane::verbs {

// Appends the extents of bytes [offset, offset+length) of the list to `out`; on
// anything but kOk what was appended is unspecified. Elements of length 0 are
// never looked at, nor those outside the stretch.
// REQUIRES: offset + length <= sges.total_bytes().
AccessVerdict resolve_sges(MemoryRegionTable& regions, PdNumber pd, const SgeList& sges,
                           std::uint64_t offset, std::uint64_t length, AccessMask need,
                           ExtentList& out);

// The same judgement for the first `length` bytes, without extents.
AccessVerdict check_sges(MemoryRegionTable& regions, PdNumber pd, const SgeList& sges,
                         std::uint64_t length, AccessMask need);

}  // namespace paravane::verbs
