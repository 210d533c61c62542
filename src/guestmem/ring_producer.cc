#include "guestmem/ring_producer.h"

#include <cassert>
#include <utility>

namespace paravane {

RingProducer::RingProducer(PageList& pages, const RingLayout& layout)
    : indices_(pages), elements_(pages), place_(layout) {
  assert(layout.fits(pages.size_bytes()));
}

RingProducer::Push RingProducer::publish() {
  if (broken_) return Push::kBroken;
  if (published_ == tail_) return Push::kDone;
  if (indices_.store_index(place_.producer_at, tail_) != Reach::kOk) {
    broken_ = true;
    return Push::kBroken;
  }
  published_ = tail_;
  return Push::kDone;
}

RingProducer::Push RingProducer::push(std::span<const std::byte> element) {
  const Push added = add(element);
  return added == Push::kDone ? publish() : added;
}

RingProducer::Push RingProducer::look() {
  std::uint32_t head = 0;
  const Reach reach = indices_.load_index(place_.consumer_at, head);
  if (reach == Reach::kAbsent) return Push::kAbsent;
  // The guest can only consume what we have published, and never goes back.
  const bool possible = reach == Reach::kOk && index().reachable(head) &&
                        index().used(published_, head) <= index().used(published_, head_);
  if (!possible) {
    broken_ = true;
    return Push::kBroken;
  }
  head_ = head;
  return Push::kDone;
}

// The guest may have written any index; it can only harm its own ring.
RingProducer::Push RingProducer::resume() {
  std::uint32_t tail = 0;
  std::uint32_t head = 0;
  for (auto [at, index] : {std::pair(place_.producer_at, &tail), {place_.consumer_at, &head}}) {
    const Reach reach = indices_.load_index(at, *index);
    if (reach == Reach::kAbsent) return Push::kAbsent;
    broken_ = broken_ || reach != Reach::kOk;
  }
  broken_ = broken_ || !index().reachable(tail) || !index().reachable(head) ||
            index().used(tail, head) > index().depth();
  if (broken_) return Push::kBroken;
  tail_ = tail;
  published_ = tail;
  head_ = head;
  return Push::kDone;
}

std::uint32_t RingProducer::unconsumed() {
  if (broken_) return 0;
  if (look() == Push::kBroken) return 0;
  return index().used(published_, head_);
}

}  // namespace paravane
