// MemoryRegionTable: what is saved of it.

#include <memory>
#include <utility>

#include "verbs/memory_region_impl.h"

namespace paravane::verbs {
namespace {

using state::Reader;
using state::Tag;
using state::Writer;

constexpr Tag kIndices{1};
constexpr Tag kNextLowByte{2};
constexpr Tag kRegion{3};  // a list
// Of a region.
constexpr Tag kRegionHandle{1};
constexpr Tag kRegionKey{2};
constexpr Tag kRegionPd{3};
constexpr Tag kRegionAccess{4};
constexpr Tag kRegionMaxPages{5};
constexpr Tag kRegionIsDma{6};
constexpr Tag kRegionIsValid{7};
constexpr Tag kRegionStart{8};
constexpr Tag kRegionLength{9};
constexpr Tag kRegionPages{10};  // only of one that has memory of its own

}  // namespace

void MemoryRegionTable::save(Writer& out) const {
  {
    const Writer::Group group(out, kIndices);
    indices_.save(out);
  }
  out.number(kNextLowByte, next_low_byte_);
  for (const std::unique_ptr<Region>& region : regions_) {
    if (region == nullptr) continue;
    const Writer::Group group(out, kRegion);
    save(*region, out);
  }
}

void MemoryRegionTable::save(const Region& region, Writer& out) {
  out.number(kRegionHandle, region.handle);
  out.number(kRegionKey, region.key);
  out.number(kRegionPd, std::to_underlying(region.pd));
  out.number(kRegionAccess, region.access);
  out.number(kRegionMaxPages, region.max_pages);
  out.flag(kRegionIsDma, region.is_dma);
  out.flag(kRegionIsValid, region.is_valid);
  out.number(kRegionStart, region.start);
  out.number(kRegionLength, region.length);
  if (region.is_dma || !region.is_valid) return;
  const Writer::Group group(out, kRegionPages);
  region.pages.save(out);
}

void MemoryRegionTable::load(Reader& in, const RegionRule& may_be) {
  Reader indices = in.group(kIndices);
  IndexPool::Claims claims = indices_.load(indices);
  next_low_byte_ = static_cast<std::uint8_t>(in.number(kNextLowByte, UINT8_MAX));
  while (auto group = in.group_if(kRegion)) {
    std::unique_ptr<Region> region = load_region(*group);
    const std::uint32_t index = region->handle >> 8;
    const bool is_allowed = may_be(
        {.pd = region->pd, .is_all_memory = region->is_dma, .fast_pages = region->max_pages});
    if (!group->expect(is_allowed, "the protection domain has no such region") ||
        !group->expect(claims.claim(index), "the key is free, or that of another region")) {
      return;
    }
    if (index >= regions_.size()) regions_.resize(index + 1);
    line_of(region->pd).join(*region, region->place);
    ++count_;
    regions_[index] = std::move(region);
  }
  in.expect(claims.complete(), "a key is taken, and there is no region");
  in.end();
}

// As add_user(), add_dma(), add_fast() and register_fast() make them.
std::unique_ptr<MemoryRegionTable::Region> MemoryRegionTable::load_region(Reader& in) const {
  auto region = std::make_unique<Region>();
  region->handle = static_cast<std::uint32_t>(in.number(kRegionHandle, UINT32_MAX));
  region->key = static_cast<std::uint32_t>(in.number(kRegionKey, UINT32_MAX));
  region->pd = PdNumber{static_cast<std::uint32_t>(in.number(kRegionPd, UINT32_MAX))};
  region->access = static_cast<AccessMask>(in.number(kRegionAccess, kAccessKnown));
  region->max_pages = static_cast<std::uint32_t>(in.number(kRegionMaxPages, kMaxFastPages));
  region->is_dma = in.flag(kRegionIsDma);
  region->is_valid = in.flag(kRegionIsValid);
  region->start = in.number(kRegionStart);
  region->length = in.number(kRegionLength);
  const bool is_fast = region->max_pages != 0;
  const bool has_pages = !region->is_dma && region->is_valid;
  if (has_pages) {
    Reader pages = in.group(kRegionPages);
    region->set_pages(PageList::load(pages, memory_, needed_rights(region->access)));
  }
  in.end();
  const std::uint64_t size = region->pages.size_bytes();
  const std::uint64_t in_first_page = region->start % kPageBytes;
  const bool is_covered = region->length > 0 && region->length <= ~region->start &&
                          in_first_page <= size && region->length <= size - in_first_page;
  in.expect(region->key >> 8 == region->handle >> 8 && (is_fast || region->key == region->handle),
            "the key is not that of its handle");
  in.expect(is_fast || region->is_valid, "only a fast region may have no memory");
  in.expect(!region->is_dma || (!is_fast && (region->access & kRemoteRights) == 0),
            "no region of all memory");
  in.expect(!has_pages || is_covered, "the pages do not cover the region");
  in.expect(!is_fast || !has_pages || size <= region->max_pages * kPageBytes,
            "the fast region has too many pages");
  return region;
}

}  // namespace paravane::verbs
