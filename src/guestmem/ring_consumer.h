// RingConsumer: reads a ring that the guest fills (SQ, RQ, SRQ).
//
// The consumer index is kept here; shared memory gets a copy that is never read back, so the guest
// cannot change it. A slot must be copied before advance() passes it; publish() returns the passed
// slots to the guest.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "guestmem/page_list.h"
#include "guestmem/ring_index.h"

namespace paravane {

struct RingLayout {
  std::uint64_t producer_at = 0;    // byte offset of prod_tail in the page list
  std::uint64_t consumer_at = 0;    // byte offset of cons_head
  std::uint64_t elements_at = 0;    // byte offset of element 0
  std::uint32_t element_bytes = 0;  // stride
  std::uint32_t elements = 0;       // n

  // Whether all elements lie in a list of this size.
  constexpr bool fits(std::uint64_t list_bytes) const {
    const std::uint64_t bytes = std::uint64_t{elements} * element_bytes;
    return elements > 0 && elements_at <= list_bytes && bytes <= list_bytes - elements_at;
  }
};

class RingConsumer {
 public:
  enum class Next : std::uint8_t {
    kEntry,  // there is an entry at the head
    kEmpty,
    kBroken,  // impossible index: this ring is dead until reset()
    kAbsent,  // its memory is unmapped at the moment
  };

  // REQUIRES: `pages` outlives the ring; the layout lies inside it; n is a power
  // of two.
  RingConsumer(PageList& pages, const RingLayout& layout);

  // Whether there is an entry. Reads the producer index only when our copy of
  // it is used up.
  Next peek();

  // Copies the first to.size() bytes of the head entry. REQUIRES: peek() said
  // kEntry; to.size() <= element_bytes.
  Reach copy_head(std::span<std::byte> to) const;
  // The same from `offset` within the entry.
  Reach copy_head(std::uint32_t offset, std::span<std::byte> to) const;

  // Passes the head slot, whether or not the entry in it was any good: a bad entry
  // must not be seen twice. REQUIRES: peek() said kEntry; publish() follows in the
  // same turn.
  void advance();

  // Gives all slots that were passed back to the guest. The line that its index
  // lies in goes back and forth between two processors; one store for several
  // entries is worth much. While the memory is absent they are ours, and the guest
  // learns of it from the first peek() or publish() after its return.
  Reach publish();

  // Entries from the head to the guest's producer index; reads the index. 0 if
  // the ring is broken or absent.
  std::uint32_t available();

  // An impossible index was seen; dead until reset().
  bool broken() const { return broken_; }

  // For a QP that leaves RESET: the guest has zeroed both indices.
  void reset();

 private:
  Next look();
  void prefetch(std::uint32_t ahead) const;

  PageList* pages_;
  RingLayout layout_;
  RingIndex index_;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;       // last producer index seen
  std::uint32_t published_ = 0;  // what the guest was told of head_
  bool broken_ = false;
  bool was_absent_ = false;  // when the guest was to be told
};

}  // namespace paravane
