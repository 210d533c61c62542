// Forgotten: determines which entries in a queue refer to an object that has been destroyed since
// the entry was added. The queue numbers its entries in ascending order. When an object is
// destroyed, this class records the number of the last entry at that time.
//
// Destroying an object therefore takes one step, no matter how many entries wait. Each entry is
// checked when it reaches the head of the queue. If a new object gets the same handle, its entries
// have higher numbers and are valid.
//
// An object that ends needs no memory: without it, entries about all objects with higher handles
// than any before become void too.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <vector>

#include "base/memory_shortage.h"

namespace paravane::device {

class Forgotten {
 public:
  // Makes entries about `handle` up to number `last` void. REQUIRES: numbers never decrease.
  void forget(std::uint32_t handle, std::uint64_t last) {
    const bool fits = handle < up_to_.size() ||
                      runs_in_memory([&] { up_to_.resize(std::size_t{handle} + 1, beyond_); });
    (fits ? up_to_[handle] : beyond_) = last;
  }
  bool covers(std::uint32_t handle, std::uint64_t number) const {
    return number <= (handle < up_to_.size() ? up_to_[handle] : beyond_);
  }

 private:
  std::vector<std::uint64_t> up_to_;  // by handle
  std::uint64_t beyond_ = 0;          // for all handles that it has no place for
};

}  // namespace paravane::device
