// NotificationRing: one of the two device rings, which carry notices to the guest. A notice is a
// completion notification or an asynchronous event. Notices that do not fit into the ring wait here
// in order until the guest has made room. No notice is overwritten or lost.
//
// If more than kMergeAbove notices wait, a new notice that equals a waiting notice is merged with
// it. The new notice would contain no new information, and a guest that never reads its ring must
// not fill the daemon's memory.
//
// The cost of a call does not depend on the number of waiting notices. Notices about a destroyed
// object become invalid, and are dropped when they reach the head of the queue.
//
// Owner thread only. Source: docs/device-spec.md, section 6.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "device/forgotten.h"
#include "guestmem/page_list.h"
#include "guestmem/ring_producer.h"
#include "state/reader.h"
#include "state/writer.h"

namespace paravane::device {

struct Notice {
  enum class About : std::uint8_t { kPort, kCompletionQueue, kQueuePair, kSharedReceiveQueue };

  std::uint64_t element = 0;  // the guest sees its low bytes
  About about = About::kPort;
  std::uint8_t type = 0;     // of the event; 0 in a ring with notices of one type
  std::uint32_t handle = 0;  // of the object
};

class NotificationRing {
 public:
  static constexpr std::size_t kMergeAbove = 16384;
  static constexpr std::uint8_t kTypes = 32;

  // `element_bytes` is 4 or 8: the low bytes of an element, little-endian.
  NotificationRing(PageList pages, std::uint32_t element_bytes);
  NotificationRing(const NotificationRing&) = delete;
  NotificationRing& operator=(const NotificationRing&) = delete;

  // Adds a notice, which waits for flush(). If there is no memory for it, the ring is broken: the
  // turn may be a peer's, and must not end for it. REQUIRES: notice.type < kTypes.
  void put(const Notice& notice);
  // Publishes a notice without a wait, and without memory; false: it does not fit. REQUIRES: no
  // other one waits.
  bool publish(const Notice& notice);

  struct Flushed {
    bool published = false;   // the guest has new entries to read
    std::uint32_t taken = 0;  // notices that do not wait any more, including void ones
    bool cut = false;         // there may be room for more
  };
  // Publishes the notices that fit, but at most `most`.
  Flushed flush(std::uint32_t most);

  std::size_t waiting() const { return waiting_.size(); }
  bool idle() const { return waiting_.empty(); }  // no notice waits
  bool broken() const { return broken_; }
  // Goes on in a ring that another process has filled. False: it cannot.
  bool resume() { return producer_.resume() == RingProducer::Push::kDone; }
  // The number of published notices that the guest has not consumed yet.
  std::uint32_t unconsumed() { return producer_.unconsumed(); }

  // Makes the waiting notices about this object void.
  void forget(Notice::About about, std::uint32_t handle);

  // The pages of the daemon's memory that the waiting notices occupy, rounded up.
  std::uint32_t pages_kept() const;

  // (docs/state.md) Its pages are saved by its owner. Notices that are void are not saved. Of
  // load(): notices are about objects with handles below `end`.
  const PageList& pages() const { return pages_; }
  void save(state::Writer& out) const;
  using MakeNotice = Notice (*)(std::uint8_t type, std::uint32_t handle);
  void load(state::Reader& in, std::uint32_t end, MakeNotice make);

 private:
  struct Waiting {
    Notice notice;
    std::uint64_t place;   // the position; the next notice has the next higher one
    std::uint64_t number;  // grows with each put()
  };
  void keep(const Notice& notice);
  void break_off();
  RingProducer::Push push(const Notice& notice);
  bool is_void(const Waiting& waiting) const {
    return forgotten(waiting.notice.about).covers(waiting.notice.handle, waiting.number);
  }
  Forgotten& forgotten(Notice::About about) { return forgotten_[static_cast<std::size_t>(about)]; }
  const Forgotten& forgotten(Notice::About about) const {
    return forgotten_[static_cast<std::size_t>(about)];
  }

  PageList pages_;
  RingProducer producer_;
  std::uint32_t element_bytes_;
  std::deque<Waiting> waiting_;
  std::uint64_t last_number_ = 0;
  std::uint64_t last_place_ = 0;
  std::uint64_t last_taken_ = 0;                           // its place
  std::array<std::vector<std::uint64_t>, kTypes> latest_;  // place by type and handle
  std::array<Forgotten, 4> forgotten_;                     // by Notice::About
  bool broken_ = false;
};

}  // namespace paravane::device
