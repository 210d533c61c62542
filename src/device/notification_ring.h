// NotificationRing: one of the two device rings (completion notifications, async
// events). What does not fit waits here, in order, and is published when the
// guest has made room; nothing is overwritten and nothing is lost. Past
// kMergeAbove waiting entries, one that equals a waiting entry is merged with it:
// it would tell the guest nothing new, and a guest that never looks must not
// make us grow.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_set>

#include "guestmem/page_list.h"
#include "guestmem/ring_producer.h"

namespace paravane::device {

class NotificationRing {
 public:
  static constexpr std::size_t kMergeAbove = 16384;

  // `element_bytes` is 4 or 8: the low bytes of an entry, little-endian.
  NotificationRing(PageList pages, std::uint32_t element_bytes);
  NotificationRing(const NotificationRing&) = delete;
  NotificationRing& operator=(const NotificationRing&) = delete;

  void put(std::uint64_t entry);

  // Publishes what fits. True: the guest has something new to look at.
  bool flush();

  std::size_t waiting() const { return waiting_.size(); }
  bool broken() const { return broken_; }
  // Published and not yet consumed by the guest.
  std::uint32_t unconsumed() { return producer_.unconsumed(); }

  // Drops waiting entries whose low `element_bytes` match under `mask`.
  void forget(std::uint64_t mask, std::uint64_t value);

 private:
  PageList pages_;
  RingProducer producer_;
  std::uint32_t element_bytes_;
  std::deque<std::uint64_t> waiting_;
  std::unordered_set<std::uint64_t> merged_;  // what waits, once waiting_ is long
  bool broken_ = false;
};

}  // namespace paravane::device
