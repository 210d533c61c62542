#include "device/queues/notification_ring.h"

#include <algorithm>
#include <cassert>
#include <span>
#include <utility>

#include "abi/ring_state.h"
#include "base/memory_shortage.h"
#include "base/wire_int.h"

namespace paravane::device {
namespace {

// The number of elements is not a power of two: the driver takes its pages as
// they come (docs/device-spec.md, "The two device rings").
RingLayout layout_of(const PageList& pages, std::uint32_t element_bytes) {
  const std::uint64_t elements = (pages.size_bytes() - kPageBytes) / element_bytes;
  return {abi::kRxProducerAt, abi::kRxConsumerAt, kPageBytes, element_bytes,
          static_cast<std::uint32_t>(elements)};
}

}  // namespace

NotificationRing::NotificationRing(PageList pages, std::uint32_t element_bytes)
    : pages_(std::move(pages)),
      producer_(pages_, layout_of(pages_, element_bytes)),
      element_bytes_(element_bytes) {}

void NotificationRing::put(const Notice& notice) {
  assert(notice.type < kTypes);
  if (broken_ || runs_in_memory([&] { keep(notice); })) return;
  break_off();
}

void NotificationRing::keep(const Notice& notice) {
  std::vector<std::uint64_t>& places = latest_[notice.type];
  if (notice.handle >= places.size()) places.resize(std::size_t{notice.handle} + 1);
  std::uint64_t& latest = places[notice.handle];
  if (waiting_.size() >= kMergeAbove && latest > last_taken_) {
    Waiting& earlier = waiting_[latest - waiting_.front().place];
    if (is_void(earlier)) earlier = {notice, latest, ++last_number_};
    return;
  }
  waiting_.push_back({notice, last_place_ + 1, last_number_ + 1});
  latest = ++last_place_;
  ++last_number_;
}

bool NotificationRing::publish(const Notice& notice) {
  assert(waiting_.empty());
  if (broken_) return false;
  const RingProducer::Push pushed = push(notice);
  broken_ = pushed == RingProducer::Push::kBroken;
  return pushed == RingProducer::Push::kDone;
}

void NotificationRing::break_off() {
  broken_ = true;
  waiting_.clear();
}

RingProducer::Push NotificationRing::push(const Notice& notice) {
  const Le64 element(notice.element);
  return producer_.push(std::as_bytes(std::span(&element, 1)).first(element_bytes_));
}

NotificationRing::Flushed NotificationRing::flush(std::uint32_t most) {
  Flushed flushed;
  for (; !waiting_.empty(); ++flushed.taken) {
    if (flushed.taken == most) {
      flushed.cut = true;
      break;
    }
    const Waiting& next = waiting_.front();
    if (!is_void(next)) {
      const RingProducer::Push pushed = push(next.notice);
      if (pushed == RingProducer::Push::kBroken) {
        break_off();
        break;
      }
      if (pushed != RingProducer::Push::kDone) break;
      flushed.published = true;
    }
    last_taken_ = next.place;
    waiting_.pop_front();
  }
  return flushed;
}

void NotificationRing::forget(Notice::About about, std::uint32_t handle) {
  if (!waiting_.empty()) forgotten(about).forget(handle, last_number_);
}

std::uint32_t NotificationRing::pages_kept() const {
  return static_cast<std::uint32_t>(waiting_.size() * sizeof(Waiting) / kPageBytes + 1);
}

}  // namespace paravane::device
