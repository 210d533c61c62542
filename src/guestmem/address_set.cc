#include "guestmem/address_set.h"

#include <algorithm>
#include <iterator>

#include "base/memory_shortage.h"

namespace paravane {

void AddressSet::add(std::uint64_t first, std::uint64_t last) {
  auto at = intervals_.upper_bound(first);
  if (at != intervals_.begin()) {
    const auto before = std::prev(at);
    if (before->second >= first || before->second == first - 1) at = before;
  }
  // From here everything that touches [first, last] is swallowed.
  while (at != intervals_.end() && (at->first <= last || at->first - 1 == last)) {
    first = std::min(first, at->first);
    last = std::max(last, at->second);
    at = intervals_.erase(at);
  }
  if (intervals_.size() >= kMaxIntervals) intervals_.clear();
  put(first, last);
}

bool AddressSet::put(std::uint64_t first, std::uint64_t last) {
  if (runs_in_memory([&] { intervals_.emplace(first, last); })) return true;
  intervals_.clear();
  return false;
}

void AddressSet::remove(std::uint64_t first, std::uint64_t last) {
  auto at = intervals_.upper_bound(first);
  if (at != intervals_.begin() && std::prev(at)->second >= first) --at;
  while (at != intervals_.end() && at->first <= last) {
    const std::uint64_t old_first = at->first;
    const std::uint64_t old_last = at->second;
    at = intervals_.erase(at);
    if (old_first < first && !put(old_first, first - 1)) return;
    if (old_last > last && !put(last + 1, old_last)) return;
  }
}

bool AddressSet::contains(std::uint64_t address) const {
  const auto after = intervals_.upper_bound(address);
  return after != intervals_.begin() && std::prev(after)->second >= address;
}

}  // namespace paravane
