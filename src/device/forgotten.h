// Forgotten: which of the entries that wait somewhere are about an object that has gone
// since. Whoever keeps them numbers them as they come; an object that goes leaves the
// number of the last one here. So it goes in one step, however many wait, and an entry is
// judged when its turn comes. A later object with the same handle has later entries.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <vector>

namespace paravane::device {

class Forgotten {
 public:
  // Entries about `handle` up to number `last` are void. REQUIRES: numbers only grow.
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
