#include "verbs/sge_walk.h"

#include <algorithm>

namespace paravane::verbs {

AccessVerdict resolve_sges(MemoryRegionTable& regions, PdNumber pd, const SgeList& sges,
                           Stretch stretch, AccessMask need, ExtentList& out) {
  auto [offset, length] = stretch;
  for (const Sge& sge : sges.all()) {
    if (length == 0) break;
    if (offset >= sge.length) {
      offset -= sge.length;
      continue;
    }
    const std::uint64_t bytes = std::min(length, sge.length - offset);
    const AccessVerdict verdict =
        regions.resolve(pd, sge.lkey, sge.addr + offset, bytes, need, out);
    if (verdict != AccessVerdict::kOk) return verdict;
    length -= bytes;
    offset = 0;
  }
  return AccessVerdict::kOk;
}

AccessVerdict check_sges(MemoryRegionTable& regions, PdNumber pd, const SgeList& sges,
                         std::uint64_t length, AccessMask need) {
  for (const Sge& sge : sges.all()) {
    if (length == 0) break;
    const std::uint64_t bytes = std::min<std::uint64_t>(length, sge.length);
    if (bytes == 0) continue;
    const AccessVerdict verdict = regions.check(pd, sge.lkey, sge.addr, bytes, need);
    if (verdict != AccessVerdict::kOk) return verdict;
    length -= bytes;
  }
  return AccessVerdict::kOk;
}

}  // namespace paravane::verbs
