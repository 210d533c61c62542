// MapChangeWatch: detects when the VMM has remapped guest memory or the guest has enabled bus
// mastering. Memory that was inaccessible can then be accessible again, so MapChangeWatch makes
// every queue pair check its rings. This is necessary because the guest does not repeat the
// doorbells for requests that it posted while the rings could not be read.
//
// Owner thread only.

#pragma once

#include <algorithm>
#include <cstdint>

#include "device/objects.h"
#include "guestmem/guest_memory.h"

namespace paravane::device {

class MapChangeWatch {
 public:
  MapChangeWatch(const GuestMemory& memory, Objects& objects)
      : memory_(memory), objects_(objects) {}

  // Notifies a bounded number of queue pairs, and returns their number.
  std::uint32_t poll() {
    if (seen_ != memory_.generation()) {
      seen_ = memory_.generation();
      next_ = 0;
    }
    const std::uint32_t end = std::min(objects_.qps().span(), next_ + kSlice);
    const std::uint32_t first = next_;
    for (; next_ < end; ++next_) {
      if (QueuePair* qp = objects_.find_qp(next_)) qp->engine().kick();
    }
    return next_ - std::min(first, next_);
  }
  bool has_work() const { return seen_ != memory_.generation() || next_ < objects_.qps().span(); }

 private:
  static constexpr std::uint32_t kSlice = 256;

  const GuestMemory& memory_;
  Objects& objects_;
  std::uint64_t seen_ = 0;
  std::uint32_t next_ = 0;
};

}  // namespace paravane::device
