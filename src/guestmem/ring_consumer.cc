#include "guestmem/ring_consumer.h"

#include <algorithm>
#include <cassert>

namespace paravane {
namespace {

constexpr std::uint32_t kPrefetchedBytes = 128;  // all that is read of most entries

}  // namespace

RingConsumer::RingConsumer(PageList& pages, const RingLayout& layout)
    : indices_(pages), entries_(pages), place_(layout) {
  assert(layout.fits(pages.size_bytes()));
}

RingConsumer::Next RingConsumer::look() {
  std::uint32_t tail = 0;
  const Reach reach = indices_.load_index(place_.producer_at, tail);
  if (reach == Reach::kAbsent) return Next::kAbsent;
  if (reach == Reach::kOk && tail == tail_) {  // has been judged
    return head_ != tail_ ? Next::kEntry : Next::kEmpty;
  }
  // More than a ring full, or going back behind what was published before, is
  // nothing that an honest guest can do.
  const bool possible = reach == Reach::kOk && index().reachable(tail) &&
                        index().used(tail, head_) <= index().depth() &&
                        index().used(tail, head_) >= index().used(tail_, head_);
  if (!possible) {
    broken_ = true;
    return Next::kBroken;
  }
  tail_ = tail;
  const std::uint32_t first = std::min(known(), kAhead);
  for (std::uint32_t ahead = 0; ahead < first; ++ahead) prefetch(ahead);
  return head_ != tail_ ? Next::kEntry : Next::kEmpty;
}

void RingConsumer::prefetch(std::uint32_t ahead) {
  const std::uint64_t slot = index().slot(head_ + ahead);
  const std::uint32_t bytes = std::min(place_.element_bytes, kPrefetchedBytes);
  static_cast<void>(
      entries_.prefetch(place_.elements_at + slot * place_.element_bytes, bytes, Rights::kRead));
}

std::uint32_t RingConsumer::available() {
  if (broken_) return 0;
  const Next next = look();
  return next == Next::kEntry ? index().used(tail_, head_) : 0;
}

void RingConsumer::reset() {
  head_ = 0;
  tail_ = 0;
  published_ = 0;
  broken_ = false;
  was_absent_ = false;
}

bool RingConsumer::resume(std::uint32_t head) {
  if (!index().reachable(head)) return false;
  head_ = head;
  tail_ = head;
  published_ = head;
  return true;
}

}  // namespace paravane
