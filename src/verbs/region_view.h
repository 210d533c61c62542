// RegionView finds the memory of accesses to one protection domain that come one after another, and
// mostly to the same memory region. From the second access with the same key and right on it
// remembers the piece of memory that was found, and an access within that piece needs no search.
//
// What MemoryRegionTable has judged for one access holds for the next: the key, its protection
// domain and the right are compared, and the piece lies within the region. So a view is only valid
// while neither the table nor the DMA map changes, and no request that registers or invalidates a
// region is executed. A fast path has one for each side, for as long as it exists. Owner thread
// only.

#pragma once

#include <cstdint>
#include <optional>

#include "guestmem/extent_window.h"
#include "verbs/memory_region.h"

namespace paravane::verbs {

class RegionView {
 public:
  // As MemoryRegionTable::find_extent(). REQUIRES: `regions` and `pd` are those of the last call,
  // or forget() was called since.
  std::optional<Extent> find_extent(MemoryRegionTable& regions, PdNumber pd, std::uint32_t key,
                                    std::uint64_t addr, std::uint64_t length, AccessMask need) {
    if (key == key_ && need == need_) [[likely]] {
      if (const auto found = window_.find(addr, length)) [[likely]]
        return found;
    }
    return search(regions, pd, key, addr, length, need);
  }

  void forget() {
    key_ = 0;
    window_ = {};
  }

 private:
  std::optional<Extent> search(MemoryRegionTable& regions, PdNumber pd, std::uint32_t key,
                               std::uint64_t addr, std::uint64_t length, AccessMask need);

  // Of the last access.
  std::uint32_t key_ = 0;
  AccessMask need_ = 0;
  ExtentWindow window_;  // of the region with this key, found for this right; or empty
};

}  // namespace paravane::verbs
