// IndexPool: gives out the numbers [first, end) and reuses the one that has been
// free for the longest: what still refers to a destroyed object finds nothing
// rather than its successor.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace paravane::verbs {

class IndexPool {
 public:
  IndexPool(std::uint32_t first, std::uint32_t end) : fresh_(first), end_(end) {}

  std::optional<std::uint32_t> take() {
    if (fresh_ < end_) return fresh_++;
    if (free_.empty()) return std::nullopt;
    const std::uint32_t index = free_.front();
    free_.pop_front();
    return index;
  }

  // REQUIRES: `index` was taken and is not free.
  void give_back(std::uint32_t index) { free_.push_back(index); }

 private:
  std::uint32_t fresh_;  // never given out so far
  std::uint32_t end_;
  std::deque<std::uint32_t> free_;
};

}  // namespace paravane::verbs
