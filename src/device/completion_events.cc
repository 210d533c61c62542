#include "device/completion_events.h"

#include <algorithm>
#include <utility>

#include "abi/ring_state.h"

namespace paravane::device {
namespace {

// A VMM re-maps memory within milliseconds; a program that has not taken a single
// completion from a full queue for so long does not mean to.
constexpr Duration kLongestHold = std::chrono::seconds(2);

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

void CompletionEvents::on_held(CompletionQueue& cq) {
  holding_.push_back({&cq, clock_.now});
}

void CompletionEvents::on_overrun(CompletionQueue& cq, bool broken) {
  (broken ? counters_.broken_rings : counters_.cq_overruns).add();
  notifier_.async(abi::kEventCqError, cq.handle());
}

void CompletionEvents::retry_held() {
  if (holding_.empty()) return;
  std::vector<Holding> still = std::exchange(holding_, {});
  std::erase_if(still, [this](Holding& holding) {
    const std::uint64_t pushed = holding.cq->pushed();
    holding.cq->retry_held();
    if (holding.cq->pushed() != pushed) holding.since = clock_.now;
    if (holding.cq->holding() && clock_.now - holding.since > kLongestHold) holding.cq->give_up();
    return !holding.cq->holding();
  });
  holding_.insert(holding_.end(), still.begin(), still.end());
}

void CompletionEvents::forget(const CompletionQueue& cq) {
  std::erase_if(holding_, [&cq](const Holding& holding) { return holding.cq == &cq; });
}

}  // namespace paravane::device
