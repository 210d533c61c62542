#include "verbs/region_view.h"

namespace paravane::verbs {

// A piece costs more to find than the bytes of one access: it is worth it for those that follow.
std::optional<Extent> RegionView::search(MemoryRegionTable& regions, PdNumber pd, std::uint32_t key,
                                         std::uint64_t addr, std::uint64_t length,
                                         AccessMask need) {
  if (key != key_ || need != need_) {
    key_ = key;
    need_ = need;
    window_ = {};
    return regions.find_extent(pd, key, addr, length, need);
  }
  const auto window = regions.find_window(pd, key, addr, length, need);
  if (!window) return std::nullopt;
  window_ = *window;
  return window_.find(addr, length);
}

}  // namespace paravane::verbs
