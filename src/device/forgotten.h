// Forgotten: tells which of the queued entries refer to an object that was destroyed since. The
// holder of the entries numbers them as they arrive; a destroyed object leaves the number of the
// last one here. So destruction takes one step, however many entries are queued, and an entry is
// checked when its turn comes. A later object with the same handle has later entries.
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
