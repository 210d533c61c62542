// RingProducer: fills a ring that the guest consumes (CQ, CQ notification ring, async event ring).
// It never overwrites an entry that the guest has not consumed, never reads back what it wrote,
// and never stores an index that the driver would call invalid.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "guestmem/page_list.h"
#include "guestmem/ring_consumer.h"
#include "guestmem/ring_index.h"

namespace paravane {

class RingProducer {
 public:
  enum class Push : std::uint8_t {
    kDone,
    kFull,    // nothing was stored
    kBroken,  // the guest's consumer index is impossible: this ring is dead
    kAbsent,  // its memory is unmapped at the moment; nothing was stored
  };

  // REQUIRES: `pages` outlives the ring; the layout lies inside it.
  RingProducer(PageList& pages, const RingLayout& layout);

  // Writes one element, which the guest sees after publish(). The guest's index is
  // read only when our copy of it says that the ring is full. REQUIRES:
  // element.size() is at most the stride; publish() follows in the same turn.
  Push add(std::span<const std::byte> element);

  // Stores the index (release): the guest sees all that was added. The line it
  // lies in goes back and forth between two processors; one store for several
  // elements is worth much. kDone or kBroken.
  Push publish();

  // Both.
  Push push(std::span<const std::byte> element);

  // What the guest has not consumed yet; reads its index. A broken ring counts
  // as empty; of an absent one we say what we knew last.
  std::uint32_t unconsumed();

  // An impossible index was seen, by push() or unconsumed().
  bool broken() const { return broken_; }

  // The guest's consumer index as last read (for "did it move?").
  std::uint32_t consumer_seen() const { return head_; }

 private:
  // Reads the guest's consumer index into head_.
  Push look();
  std::uint64_t element_at(std::uint32_t index) const;  // byte offset in the page list

  PageList* pages_;
  RingLayout layout_;
  RingIndex index_;
  std::uint32_t tail_ = 0;
  std::uint32_t published_ = 0;  // what the guest sees as the tail
  std::uint32_t head_ = 0;       // last consumer index seen
  bool broken_ = false;
};

}  // namespace paravane
