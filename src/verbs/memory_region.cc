#include "verbs/memory_region.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/undo.h"
#include "verbs/memory_region_impl.h"

namespace paravane::verbs {
namespace {

constexpr std::uint32_t kIndexLimit = 1u << 24;  // an index is the upper 24 bits of a key
// Rights that allow the memory to be changed.
constexpr AccessMask kWritingRights = kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteAtomic;

Rights memory_rights(AccessMask need) {
  return (need & kWritingRights) != 0 ? Rights::kWrite : Rights::kRead;
}

AccessVerdict verdict_of(Reach reach) {
  switch (reach) {
    case Reach::kOk: return AccessVerdict::kOk;
    case Reach::kOutside: return AccessVerdict::kOutOfRange;
    case Reach::kAbsent: return AccessVerdict::kAbsent;
    case Reach::kDenied: return AccessVerdict::kNoRight;
    case Reach::kFailed: return AccessVerdict::kFailed;
  }
  return AccessVerdict::kFailed;
}

}  // namespace

Rights needed_rights(AccessMask access) {
  return (access & kWritingRights) != 0 ? Rights::kReadWrite : Rights::kRead;
}

MemoryRegionTable::MemoryRegionTable(GuestMemory& memory, std::uint32_t max_regions)
    : memory_(memory), indices_(1, std::min(max_regions, kIndexLimit - 1) + 1) {}

MemoryRegionTable::~MemoryRegionTable() {
  for (const std::unique_ptr<Region>& region : regions_) {
    if (region) line_of(region->pd).leave(region->place);
  }
}

// A deque: lines stay where they are when a higher number comes.
Line<MemoryRegionTable::Region>& MemoryRegionTable::line_of(PdNumber pd) {
  const std::uint32_t number = std::to_underlying(pd);
  while (by_pd_.size() <= number) by_pd_.emplace_back();
  return by_pd_[number];
}

Result<std::uint32_t> MemoryRegionTable::add_user(PdNumber pd, std::uint64_t start,
                                                  std::uint64_t length, AccessMask access,
                                                  PageList pages) {
  const std::uint64_t in_first_page = start % kPageBytes;
  if (length == 0 || length > ~start || in_first_page > pages.size_bytes() ||
      length > pages.size_bytes() - in_first_page) {
    return fail(Errc::kInvalidArgument, "memory region: the pages do not cover the region");
  }
  auto region = std::make_unique<Region>();
  region->pd = pd;
  region->access = access;
  region->start = start;
  region->length = length;
  region->set_pages(std::move(pages));
  return add(std::move(region));
}

Result<std::uint32_t> MemoryRegionTable::add_dma(PdNumber pd, AccessMask access) {
  if ((access & kRemoteRights) != 0) {
    return fail(Errc::kInvalidArgument,
                "memory region: a region of all memory allows no remote access");
  }
  auto region = std::make_unique<Region>();
  region->pd = pd;
  region->access = access;
  region->is_dma = true;
  return add(std::move(region));
}

Result<std::uint32_t> MemoryRegionTable::add_fast(PdNumber pd, std::uint32_t max_pages) {
  if (max_pages == 0 || max_pages > kMaxFastPages) {
    return fail(Errc::kInvalidArgument, "memory region: a fast region must have 1 to 512 pages");
  }
  auto region = std::make_unique<Region>();
  region->pd = pd;
  region->max_pages = max_pages;
  region->is_valid = false;
  return add(std::move(region));
}

bool MemoryRegionTable::may_register(PdNumber pd, std::uint32_t key, std::uint32_t pages) const {
  const Region* region = find(key);
  return region != nullptr && region->pd == pd && !region->is_valid && pages > 0 &&
         pages <= region->max_pages;
}

bool MemoryRegionTable::register_fast(const FastRegistration& registration, PageList pages) {
  const std::uint64_t in_first_page = registration.start % kPageBytes;
  if (registration.length == 0 || registration.length > ~registration.start ||
      in_first_page + registration.length > pages.size_bytes()) {
    return false;
  }
  Region& region = *find(registration.key);
  region.key = registration.key;
  region.access = registration.access;
  region.start = registration.start;
  region.length = registration.length;
  region.set_pages(std::move(pages));
  region.is_valid = true;
  return true;
}

bool MemoryRegionTable::may_invalidate(PdNumber pd, std::uint32_t key) const {
  const Region* region = find(key);
  return region != nullptr && region->max_pages != 0 && region->is_valid && region->key == key &&
         region->pd == pd;
}

void MemoryRegionTable::invalidate(std::uint32_t key) {
  memory_.loans().recall_key(key);
  Region& region = *find(key);
  region.is_valid = false;
  region.set_pages({});
}

// By bits 31:8 alone.
MemoryRegionTable::Region* MemoryRegionTable::find(std::uint32_t key) const {
  const std::uint32_t index = key >> 8;
  return index < regions_.size() ? regions_[index].get() : nullptr;
}

Result<std::uint32_t> MemoryRegionTable::add(std::unique_ptr<Region> region) {
  const std::optional<std::uint32_t> index = indices_.take();
  if (!index) return fail(Errc::kResourceExhausted, "memory region: the table is full");
  Undo untake([&] { indices_.give_back(*index); });
  if (*index >= regions_.size()) regions_.resize(*index + 1);
  Line<Region>& line = line_of(region->pd);
  untake.keep();
  region->handle = (*index << 8) | next_low_byte_++;
  region->key = region->handle;
  line.join(*region, region->place);
  ++count_;
  const std::uint32_t key = region->key;
  regions_[*index] = std::move(region);
  return key;
}

Status MemoryRegionTable::remove(std::uint32_t key) {
  Region* region = find(key);
  if (region == nullptr || region->handle != key) {
    return fail(Errc::kNotFound, "memory region: no such key");
  }
  memory_.loans().recall_key(key);
  const std::uint32_t index = key >> 8;
  line_of(region->pd).leave(region->place);
  regions_[index].reset();
  indices_.give_back(index);
  --count_;
  return {};
}

// The checks of IBTA 10.6.3, in its order: the key names a region, the region
// belongs to the protection domain, the range lies inside, the right was given.
AccessVerdict MemoryRegionTable::judge(PdNumber pd, std::uint32_t key, std::uint64_t addr,
                                       std::uint64_t length, AccessMask need, Region*& region) {
  region = find(key);
  ++touched_;
  if (region == nullptr || region->key != key || region->pd != pd || !region->is_valid || closed_) {
    return AccessVerdict::kBadKey;
  }
  if (!region->holds(addr, length)) return AccessVerdict::kOutOfRange;
  // A DMA region never carries a remote right, so no peer gets past this line.
  return (need & ~region->access) != 0 ? AccessVerdict::kNoRight : AccessVerdict::kOk;
}

AccessVerdict MemoryRegionTable::check(PdNumber pd, std::uint32_t key, std::uint64_t addr,
                                       std::uint64_t length, AccessMask need) {
  Region* region = nullptr;
  return judge(pd, key, addr, length, need, region);
}

AccessVerdict MemoryRegionTable::resolve(PdNumber pd, std::uint32_t key, std::uint64_t addr,
                                         std::uint64_t length, AccessMask need, ExtentList& out) {
  Region* region = nullptr;
  const AccessVerdict verdict = judge(pd, key, addr, length, need, region);
  if (verdict != AccessVerdict::kOk) return verdict;
  if (noted_keys_ != nullptr) [[unlikely]]
    noted_keys_->push_back(key);
  if (region->is_dma) {
    return verdict_of(memory_.resolve(GuestAddr{addr}, length, memory_rights(need), out));
  }
  const std::size_t before = out.extents().size();
  const Reach reach =
      region->view.resolve(region->offset_of(addr), length, memory_rights(need), out);
  touched_ += out.extents().size() - before;
  return verdict_of(reach);
}

std::optional<Extent> MemoryRegionTable::find_extent(PdNumber pd, std::uint32_t key,
                                                     std::uint64_t addr, std::uint64_t length,
                                                     AccessMask need) {
  Region* region = nullptr;
  if (judge(pd, key, addr, length, need, region) != AccessVerdict::kOk) return std::nullopt;
  if (region->is_dma) return memory_.find_extent(GuestAddr{addr}, length, memory_rights(need));
  return region->view.extent(region->offset_of(addr), length, memory_rights(need));
}

std::optional<ExtentWindow> MemoryRegionTable::find_window(PdNumber pd, std::uint32_t key,
                                                           std::uint64_t addr, std::uint64_t length,
                                                           AccessMask need) {
  Region* region = nullptr;
  if (judge(pd, key, addr, length, need, region) != AccessVerdict::kOk) return std::nullopt;
  if (region->is_dma) {
    const auto found = memory_.find_extent(GuestAddr{addr}, length, memory_rights(need));
    return found ? std::optional(ExtentWindow(addr, *found)) : std::nullopt;
  }
  const auto piece = region->view.piece(region->offset_of(addr), length, memory_rights(need));
  if (!piece) return std::nullopt;
  return region->window(*piece);
}

std::optional<std::uint32_t> MemoryRegionTable::any_in(PdNumber pd) const {
  const std::uint32_t number = std::to_underlying(pd);
  const Region* first = number < by_pd_.size() ? by_pd_[number].first() : nullptr;
  return first == nullptr ? std::nullopt : std::optional(first->handle);
}

std::uint32_t MemoryRegionTable::pages_kept(std::uint32_t key) const {
  const Region* region = find(key);
  return region == nullptr ? 0 : 1 + region->pages.pages_kept();
}

}  // namespace paravane::verbs
