#include "guestmem/ring_consumer.h"

#include <algorithm>
#include <cassert>

namespace paravane {
namespace {

constexpr std::uint32_t kAhead = 3;  // entries: more takes lines that the guest still writes
constexpr std::uint32_t kPrefetchedBytes = 128;  // all that is read of most entries

}  // namespace

RingConsumer::RingConsumer(PageList& pages, const RingLayout& layout)
    : indices_(pages), entries_(pages), place_(layout) {
  assert(layout.fits(pages.size_bytes()));
}

RingConsumer::Next RingConsumer::peek() {
  if (broken_) return Next::kBroken;
  if (was_absent_) static_cast<void>(publish());
  return head_ != tail_ ? Next::kEntry : look();
}

RingConsumer::Next RingConsumer::look() {
  std::uint32_t tail = 0;
  const Reach reach = indices_.load_index(place_.producer_at, tail);
  if (reach == Reach::kAbsent) return Next::kAbsent;
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

Reach RingConsumer::copy_head(std::span<std::byte> to) {
  return copy_head(0, to);
}

Reach RingConsumer::copy_head(std::uint32_t offset, std::span<std::byte> to) {
  if (offset > place_.element_bytes || to.size() > place_.element_bytes - offset) {
    return Reach::kOutside;
  }
  const std::uint64_t entry = std::uint64_t{index().slot(head_)} * place_.element_bytes;
  // A new entry is in the cache of the guest's processor. Waiting for it costs more than all that
  // is done with it.
  const bool is_posted = known() > kAhead;
  return entries_.copy_in(place_.elements_at + entry + offset, to,
                          is_posted ? kAhead * place_.element_bytes : 0);
}

void RingConsumer::advance() {
  assert(head_ != tail_);
  head_ = index().next(head_);
}

Reach RingConsumer::publish() {
  if (published_ == head_) return Reach::kOk;
  const Reach reach = indices_.store_index(place_.consumer_at, head_);
  was_absent_ = reach != Reach::kOk;
  if (!was_absent_) published_ = head_;
  return reach;
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

}  // namespace paravane
