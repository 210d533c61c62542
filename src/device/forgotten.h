// Forgotten: determines which entries in a queue refer to an object that has been destroyed since
// the entry was added. The queue numbers its entries in ascending order. When an object is
// destroyed, this class records the number of the last entry at that time.
//
// Destroying an object therefore takes one step, no matter how many entries wait. Each entry is
// checked when it reaches the head of the queue. If a new object gets the same handle, its entries
// have higher numbers and are valid.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <vector>

namespace paravane::device {

class Forgotten {
 public:
  // Makes entries about `handle` up to number `last` void. REQUIRES: numbers never decrease.
  void forget(std::uint32_t handle, std::uint64_t last) {
    if (handle >= up_to_.size()) up_to_.resize(std::size_t{handle} + 1);
    up_to_[handle] = last;
  }
  bool covers(std::uint32_t handle, std::uint64_t number) const {
    return handle < up_to_.size() && number <= up_to_[handle];
  }

 private:
  std::vector<std::uint64_t> up_to_;  // by handle
};

}  // namespace paravane::device
