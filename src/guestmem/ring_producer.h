// RingProducer: writes elements to a ring that the guest consumes, such as a completion queue or
// one of the two device rings. It never overwrites an element that the guest has not consumed,
// never reads back what it wrote, and never stores an index that the guest's driver would consider
// invalid.
//
// Owner thread only.

#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "guestmem/page_list.h"
#include "guestmem/page_view.h"
#include "guestmem/ring_consumer.h"
#include "guestmem/ring_index.h"

namespace paravane {

class RingProducer {
 public:
  enum class Push : std::uint8_t {
    kDone,
    kFull,    // nothing was stored
    kBroken,  // the guest's consumer index is impossible; the ring is unusable
    kAbsent,  // its memory is unmapped at the moment; nothing was stored
  };

  // REQUIRES: `pages` outlives the ring, and the layout fits into it.
  RingProducer(PageList& pages, const RingLayout& layout);

  // Writes one element, which the guest sees after publish(). The guest's index is read only if the
  // ring is full according to its last known value. REQUIRES: element.size() is at most the stride,
  // and publish() follows in the same turn.
  template <std::size_t N>
  Push add(std::span<const std::byte, N> element) {
    assert(element.size() <= place_.element_bytes);
    if (broken_) return Push::kBroken;
    if (index().used(tail_, head_) == index().depth()) [[unlikely]] {
      if (const Push seen = look(); seen != Push::kDone) return seen;
      if (index().used(tail_, head_) == index().depth()) return Push::kFull;
    }
    Reach reach = Reach::kOk;
    // What is reachable now stays so until the end of the turn.
    if (tail_ == published_) {
      reach = indices_.prefetch(place_.producer_at, sizeof tail_, Rights::kWrite);
    }
    if (reach == Reach::kOk) {
      reach = elements_.copy_out(element_at(tail_), element, place_.element_bytes);
    }
    if (reach == Reach::kOk) [[likely]] {
      tail_ = index().next(tail_);
      return Push::kDone;
    }
    if (reach == Reach::kAbsent) return Push::kAbsent;
    broken_ = true;
    return Push::kBroken;
  }

  Push add(std::span<const std::byte> element) { return add<std::dynamic_extent>(element); }

  // Stores the producer index with release semantics, so the guest sees all added elements. The
  // cache line of the index moves between two processors with each store, so one store for several
  // elements saves much time. Returns kDone or kBroken.
  Push publish();

  // Calls add() and publish().
  Push push(std::span<const std::byte> element);

  // The number of elements that the guest has not consumed yet. Reads the guest's index. A broken
  // ring counts as empty. For an absent ring, the last known number is returned.
  std::uint32_t unconsumed();

  // The same as the guest's index was read last.
  std::uint32_t unconsumed_as_seen() const { return index().used(tail_, head_); }

  // Goes on where the guest's memory says that the ring is, which was filled by a producer that is
  // gone. kDone, or nothing was found. REQUIRES: nothing was added.
  Push resume();

  // The index that the guest sees: of the first element that it does not see.
  std::uint32_t published() const { return published_; }

  // Whether push() or unconsumed() has read an impossible index.
  bool broken() const { return broken_; }

  // As RingConsumer has them. REQUIRES of save(): what was added is published.
  void save(state::Writer& out) const;
  void load(state::Reader& in);

  // The guest's consumer index as last read (for "did it move?").
  std::uint32_t consumer_seen() const { return head_; }

 private:
  // Reads the guest's consumer index into head_.
  Push look();
  // Byte offset in the page list.
  std::uint64_t element_at(std::uint32_t position) const {
    return place_.elements_at + std::uint64_t{index().slot(position)} * place_.element_bytes;
  }
  RingIndex index() const { return RingIndex(place_.elements); }

  PageView indices_;
  PageView elements_;
  RingPlace place_;
  std::uint32_t tail_ = 0;
  std::uint32_t published_ = 0;  // what the guest sees as the tail
  std::uint32_t head_ = 0;       // last consumer index seen
  bool broken_ = false;
};

}  // namespace paravane
