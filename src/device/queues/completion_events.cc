#include "device/queues/completion_events.h"

#include <algorithm>
#include <utility>

#include "abi/ring_state.h"
#include "base/memory_shortage.h"

namespace paravane::device {
namespace {

// A VMM re-maps memory within milliseconds; a program that has not taken a single
// completion from a full queue for so long does not mean to.
constexpr Duration kLongestHold = std::chrono::seconds(2);
// Of all queues of a device together: what a guest can make us keep.
constexpr std::size_t kMostHeldEvents = 65'536;
constexpr std::size_t kEventsPerTurn = 128;
constexpr std::uint32_t kWritesPerTurn = 2048;
constexpr std::uint32_t kWritesPerPoll = 16;  // when its guest has looked at one queue

}  // namespace

CompletionEvents::CompletionEvents(Notifier& notifier, LateEvents& late, const TurnClock& clock,
                                   DeviceCounters& counters)
    : notifier_(notifier), late_(late), clock_(clock), counters_(counters) {}

void CompletionEvents::arm(CompletionQueue& cq, bool solicited_only, ArmPath path) {
  counters_.arms.add();
  late_.on_arm(cq);
  cq.set_arm(solicited_only);
  if (path == ArmPath::kPosted && !late_.covers(cq) && cq.holds_what_arm_waits_for()) fire(cq);
}

void CompletionEvents::on_completion(CompletionQueue& cq, bool solicited) {
  if (cq.would_fire(solicited)) fire(cq);
  late_.on_completion(cq);
}

void CompletionEvents::fire(CompletionQueue& cq) {
  cq.disarm();
  counters_.events.add();
  late_.before_event(cq);
  notifier_.completion(cq.handle());
}

std::optional<std::uint64_t> CompletionEvents::may_hold(CompletionQueue& cq) {
  if (held_ >= kMostHeldEvents) return std::nullopt;
  if (!cq.hold_state().place) {
    if (!runs_in_memory([&] { holding_.push_back(&cq); })) return std::nullopt;
    cq.hold_state() = {.place = static_cast<std::uint32_t>(holding_.size() - 1),
                       .since = clock_.now};
  }
  ++held_;
  return ++last_number_;
}

void CompletionEvents::forget_qp(std::uint32_t qp_handle) {
  if (held_ > 0) forgotten_.forget(qp_handle, last_number_);
}

void CompletionEvents::on_overrun(CompletionQueue& cq, bool broken) {
  (broken ? counters_.broken_rings : counters_.cq_overruns).add();
  notifier_.async(abi::kEventCqError, cq.handle());
}

std::uint32_t CompletionEvents::retry_held() {
  std::uint32_t left = kWritesPerTurn;
  const std::size_t looks = std::min(holding_.size(), kEventsPerTurn);
  for (std::size_t i = 0; i < looks && left > 0; ++i) {
    if (next_ >= holding_.size()) next_ = 0;
    CompletionQueue& cq = *holding_[next_];
    left -= retry(cq, left);
    if (cq.hold_state().place) ++next_;  // else another one has its place now
  }
  return static_cast<std::uint32_t>(looks) + kWritesPerTurn - left;
}

std::uint32_t CompletionEvents::retry_held(CompletionQueue& cq) {
  return cq.hold_state().place ? retry(cq, kWritesPerPoll) : 0;
}

std::uint32_t CompletionEvents::retry(CompletionQueue& cq, std::uint32_t most) {
  const std::uint32_t written = cq.retry_held(most);
  CompletionQueue::HoldState& state = cq.hold_state();
  if (written > 0) state.since = clock_.now;
  if (cq.holding() && clock_.now - state.since > kLongestHold) cq.give_up();
  if (!cq.holding()) leave(cq);
  return written;
}

void CompletionEvents::leave(CompletionQueue& cq) {
  const std::uint32_t place = *cq.hold_state().place;
  holding_[place] = holding_.back();
  holding_[place]->hold_state().place = place;
  holding_.pop_back();
  cq.hold_state().place.reset();  // also when it was the last one itself
}

void CompletionEvents::forget(CompletionQueue& cq) {
  on_released(cq.held());
  if (cq.hold_state().place) leave(cq);
}

}  // namespace paravane::device
