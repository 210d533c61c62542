#include "guestmem/ring_producer.h"

#include <cassert>

namespace paravane {

RingProducer::RingProducer(PageList& pages, const RingLayout& layout)
    : pages_(&pages), layout_(layout), index_(layout.elements) {
  assert(layout.fits(pages.size_bytes()));
}

RingProducer::Push RingProducer::push(std::span<const std::byte> element) {
  assert(element.size() <= layout_.element_bytes);
  if (broken_) return Push::kBroken;
  if (index_.used(tail_, head_) == index_.depth()) {
    if (const Push seen = look(); seen != Push::kDone) return seen;
    if (index_.used(tail_, head_) == index_.depth()) return Push::kFull;
  }
  const std::uint64_t entry = std::uint64_t{index_.slot(tail_)} * layout_.element_bytes;
  const std::uint32_t next = index_.next(tail_);
  Reach reach = pages_->copy_out(layout_.elements_at + entry, element);
  if (reach == Reach::kOk) reach = pages_->store_index(layout_.producer_at, next);
  if (reach == Reach::kAbsent) return Push::kAbsent;
  if (reach != Reach::kOk) {
    broken_ = true;
    return Push::kBroken;
  }
  tail_ = next;
  return Push::kDone;
}

RingProducer::Push RingProducer::look() {
  std::uint32_t head = 0;
  const Reach reach = pages_->load_index(layout_.consumer_at, head);
  if (reach == Reach::kAbsent) return Push::kAbsent;
  // The guest can only consume what we have published, and never goes back.
  const bool possible = reach == Reach::kOk && index_.reachable(head) &&
                        index_.used(tail_, head) <= index_.used(tail_, head_);
  if (!possible) {
    broken_ = true;
    return Push::kBroken;
  }
  head_ = head;
  return Push::kDone;
}

std::uint32_t RingProducer::unconsumed() {
  if (broken_) return 0;
  if (look() == Push::kBroken) return 0;
  return index_.used(tail_, head_);
}

}  // namespace paravane
