// IndexPool hands out the numbers from `first` up to but not including `end`. It reuses the number
// that has been free the longest, so a stale reference to a destroyed object most likely finds no
// object. If numbers were reused sooner, the reference could find a newer object with the same
// number.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/free_numbers.h"
#include "state/reader.h"
#include "state/writer.h"

namespace paravane::verbs {

class IndexPool {
 public:
  IndexPool(std::uint32_t first, std::uint32_t end) : first_(first), fresh_(first), end_(end) {}

  std::optional<std::uint32_t> take() {
    if (fresh_ >= end_) return free_.take();
    free_.make_room(fresh_ - first_ + 1);
    return fresh_++;
  }

  // REQUIRES: `index` was taken and is not free.
  void give_back(std::uint32_t index) { free_.put(index); }

  // Which numbers are free, and in which order they are reused (docs/state.md).
  void save(state::Writer& out) const;

  // Loading says which numbers are taken. The owner claims each, for one object.
  class Claims {
   public:
    // False: the number is free, was never handed out, or was claimed before.
    bool claim(std::uint32_t index);
    // Whether each number that is taken was claimed.
    bool complete() const { return left_ == 0; }

   private:
    friend class IndexPool;
    std::uint32_t first_ = 0;
    std::vector<bool> taken_;
    std::uint32_t left_ = 0;
  };
  // REQUIRES: nothing was taken yet.
  Claims load(state::Reader& in);

 private:
  std::uint32_t first_;
  std::uint32_t fresh_;  // never given out so far
  std::uint32_t end_;
  FreeNumbers free_;
};

}  // namespace paravane::verbs
