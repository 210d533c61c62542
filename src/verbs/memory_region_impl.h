// Defines a region of the table of memory regions, for the table's own files.
//
// Owner thread only.

#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "verbs/memory_region.h"

namespace paravane::verbs {

inline constexpr AccessMask kRemoteRights =
    kAccessRemoteWrite | kAccessRemoteRead | kAccessRemoteAtomic;
inline constexpr std::uint32_t kMaxFastPages = 512;  // one table of a page directory

struct MemoryRegionTable::Region {
  PdNumber pd{};
  std::uint32_t handle = 0;  // the first key
  std::uint32_t key = 0;
  AccessMask access = 0;
  std::uint32_t max_pages = 0;  // not 0: a fast region
  bool is_dma = false;
  bool is_valid = true;  // false: a fast region without memory
  std::uint64_t start = 0;
  std::uint64_t length = 0;
  PageList pages;
  PageView view{pages};
  Line<Region>::Place place;  // among those of its protection domain

  void set_pages(PageList list) {
    pages = std::move(list);
    view = PageView(pages);
  }
  // Of the byte with this address in `pages`.
  std::uint64_t offset_of(std::uint64_t addr) const { return start % kPageBytes + (addr - start); }

  // A piece of `pages`, without its bytes before and behind the region.
  ExtentWindow window(const PageView::Piece& piece) const {
    const std::uint64_t offset = start % kPageBytes;
    const std::uint64_t first = std::max(piece.first, offset);
    const std::uint64_t end = std::min(piece.first + piece.extent.size(), offset + length);
    return {start + (first - offset), piece.extent.part(first - piece.first, end - first)};
  }

  bool holds(std::uint64_t addr, std::uint64_t bytes) const {
    if (is_dma) return true;  // GuestMemory knows what is mapped
    const std::uint64_t offset = addr - start;
    return addr >= start && offset <= length && bytes <= length - offset;
  }
};

}  // namespace paravane::verbs
