#include "device/notification_ring.h"

#include <algorithm>
#include <span>
#include <utility>

#include "abi/ring_state.h"
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

void NotificationRing::put(std::uint64_t entry) {
  if (broken_) return;
  if (waiting_.size() >= kMergeAbove) {
    if (merged_.empty()) merged_.insert(waiting_.begin(), waiting_.end());
    if (!merged_.insert(entry).second) return;
  }
  waiting_.push_back(entry);
}

bool NotificationRing::flush() {
  bool published = false;
  while (!waiting_.empty()) {
    const Le64 element(waiting_.front());
    const auto bytes = std::as_bytes(std::span(&element, 1)).first(element_bytes_);
    const RingProducer::Push push = producer_.push(bytes);
    if (push == RingProducer::Push::kBroken) {
      broken_ = true;
      waiting_.clear();
      merged_.clear();
      return published;
    }
    if (push != RingProducer::Push::kDone) break;
    merged_.erase(waiting_.front());
    waiting_.pop_front();
    published = true;
  }
  if (waiting_.size() < kMergeAbove) merged_.clear();
  return published;
}

void NotificationRing::forget(std::uint64_t mask, std::uint64_t value) {
  if (waiting_.empty()) return;
  std::erase_if(waiting_, [=](std::uint64_t entry) { return (entry & mask) == value; });
  merged_.clear();
}

}  // namespace paravane::device
