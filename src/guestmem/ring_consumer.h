// RingConsumer: reads entries from a ring that the guest fills, such as a send, receive or shared
// receive queue.
//
// The consumer index is stored in this object. The guest sees a copy in shared memory that is never
// read back, so the guest cannot change the index. Copy an entry before advance() moves past its
// slot. publish() returns these slots to the guest.
//
// Owner thread only.

#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "guestmem/page_list.h"
#include "guestmem/page_view.h"
#include "guestmem/ring_index.h"
#include "state/reader.h"
#include "state/writer.h"

namespace paravane {

struct RingLayout {
  std::uint64_t producer_at = 0;    // byte offset of prod_tail in the page list
  std::uint64_t consumer_at = 0;    // byte offset of cons_head
  std::uint64_t elements_at = 0;    // byte offset of element 0
  std::uint32_t element_bytes = 0;  // stride
  std::uint32_t elements = 0;       // n

  // Whether all elements fit into a page list of this size.
  constexpr bool fits(std::uint64_t list_bytes) const {
    const std::uint64_t bytes = std::uint64_t{elements} * element_bytes;
    return elements > 0 && elements_at <= list_bytes && bytes <= list_bytes - elements_at;
  }
};

// The same in 16 bytes. REQUIRES: it fits into a page list, which has 1 GiB at most, and the
// indices are near its start.
struct RingPlace {
  explicit RingPlace(const RingLayout& layout)
      : producer_at(static_cast<std::uint16_t>(layout.producer_at)),
        consumer_at(static_cast<std::uint16_t>(layout.consumer_at)),
        elements_at(static_cast<std::uint32_t>(layout.elements_at)),
        element_bytes(layout.element_bytes),
        elements(layout.elements) {
    assert(producer_at == layout.producer_at && consumer_at == layout.consumer_at);
    assert(elements_at == layout.elements_at);
  }

  std::uint16_t producer_at;
  std::uint16_t consumer_at;
  std::uint32_t elements_at;
  std::uint32_t element_bytes;
  std::uint32_t elements;
};

class RingConsumer {
 public:
  enum class Next : std::uint8_t {
    kEntry,  // there is an entry at the head
    kEmpty,
    kBroken,  // impossible index; the ring is unusable until reset()
    kAbsent,  // its memory is unmapped at the moment
  };

  // REQUIRES: `pages` outlives the ring, the layout fits into it, and n is a power of two.
  RingConsumer(PageList& pages, const RingLayout& layout);

  // Whether there is an entry. Reads the producer index in shared memory only if all entries that
  // are already known have been consumed.
  Next peek() {
    if (broken_) return Next::kBroken;
    if (was_absent_) [[unlikely]]
      static_cast<void>(publish());
    return head_ != tail_ ? Next::kEntry : look();
  }

  // Copies to.size() bytes of the head entry, starting at `offset` within it. REQUIRES: peek()
  // returned kEntry, and the bytes are within element_bytes.
  template <std::size_t N>
  Reach copy_head(std::uint32_t offset, std::span<std::byte, N> to) {
    if (offset > place_.element_bytes || to.size() > place_.element_bytes - offset) {
      return Reach::kOutside;
    }
    const std::uint64_t entry = std::uint64_t{index().slot(head_)} * place_.element_bytes;
    // A new entry is in the cache of the guest's processor. Waiting for it costs more than all
    // that is done with it.
    const bool is_posted = known() > kAhead;
    return entries_.copy_in(place_.elements_at + entry + offset, to,
                            is_posted ? std::uint64_t{kAhead} * place_.element_bytes : 0);
  }

  Reach copy_head(std::uint32_t offset, std::span<std::byte> to) {
    return copy_head<std::dynamic_extent>(offset, to);
  }

  // Passes the head slot, even if its entry was invalid, because an invalid entry must not be read
  // twice. REQUIRES: peek() returned kEntry, and publish() follows in the same turn.
  void advance() {
    assert(head_ != tail_);
    head_ = index().next(head_);
  }

  // Returns all passed slots to the guest. The cache line of the index moves between two processors
  // with each store, so one store for several entries saves much time. If the memory is absent, the
  // slots are returned by the first peek() or publish() after the memory has come back.
  Reach publish() {
    if (published_ == head_) return Reach::kOk;
    const Reach reach = indices_.store_index(place_.consumer_at, head_);
    was_absent_ = reach != Reach::kOk;
    if (!was_absent_) published_ = head_;
    return reach;
  }

  // The number of entries from the head to the guest's producer index, which is read. 0 if the ring
  // is broken or absent.
  std::uint32_t available();

  // Whether an impossible index was read. The ring then stays unusable until reset().
  bool broken() const { return broken_; }

  // Call this when a queue pair leaves the state RESET, in which the guest has zeroed both indices.
  void reset();

  // Goes on in the ring of a consumer that is gone, at this index. False: there is no such index.
  // REQUIRES: nothing was read.
  bool resume(std::uint32_t head);
  // That of the entry which was `behind` entries before the head, plus 1: all entries before it
  // were passed, and so were `behind` others.
  std::uint32_t index_before(std::uint32_t behind) const {
    return (head_ - behind) & (index().period() - 1);
  }

  // The indices (docs/state.md), which are judged as the guest's are. The guest's copy is not read.
  void save(state::Writer& out) const;
  void load(state::Reader& in);

 private:
  // The entry that is fetched while one is copied, counted from that: more takes lines that the
  // guest still writes.
  static constexpr std::uint32_t kAhead = 3;

  Next look();
  // The entries that the last look at the producer index has shown.
  std::uint32_t known() const { return index().used(tail_, head_); }
  RingIndex index() const { return RingIndex(place_.elements); }
  void prefetch(std::uint32_t ahead);

  PageView indices_;
  PageView entries_;
  RingPlace place_;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;       // last producer index seen
  std::uint32_t published_ = 0;  // the value of head_ that the guest knows
  bool broken_ = false;
  bool was_absent_ = false;  // whether the memory was absent at the last publish()
};

}  // namespace paravane
