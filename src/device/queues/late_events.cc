#include "device/queues/late_events.h"

#include <algorithm>

namespace paravane::device {
namespace {

constexpr int kLatePerTurn = 128;
constexpr Duration kWakeUpTime = std::chrono::milliseconds(1);  // of a program, after its event
// What was told, armed for, and not taken for so long has been forgotten. Less would
// be an event too many for a program that is slow to wake up.
constexpr Duration kForgotten = std::chrono::milliseconds(100);

std::uint64_t microseconds(Duration duration) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(duration).count());
}

}  // namespace

LateEvents::LateEvents(const DeviceConfig& config, DoorbellWatch& watch, Notifier& notifier,
                       const TurnClock& clock, DeviceCounters& counters)
    : config_(config),
      mapped_(config.doorbells == DoorbellMode::kMapped),
      watch_(watch),
      notifier_(notifier),
      clock_(clock),
      counters_(counters) {}

void LateEvents::refill(CompletionQueue& cq) {
  cq.late().started = true;
  cq.late().budget = config_.late_event_budget;
  cq.late().refilled = clock_.now;
}

void LateEvents::on_arm(CompletionQueue& cq) {
  refill(cq);
  if (!covers(cq)) return;
  const auto position = cq.position_of_unconsumed();
  if (!position) return;
  start_window(cq, *position);
  cq.late().arm_seen = true;
  cq.late().armed_at = clock_.now;
  queue_up(cq, is_told(cq, *position));
}

void LateEvents::on_completion(CompletionQueue& cq) {
  if (!covers(cq)) return;
  watch_.on_work(*cq.owner());
  if (presumes_arm(cq)) send(cq, counters_.late_events);
  CompletionQueue::LateState& late = cq.late();
  if (late.watched && !late.rarely) return;
  const std::uint64_t consumed = cq.consumed();
  if (late.watched && late.arm_seen && late.consumed_at_start == consumed) return;
  if (!late.started) refill(cq);  // a new queue starts with a full budget
  late.waiting_since = clock_.now;
  start_window(cq, consumed);
  queue_up(cq, false);
}

// Only an event that is sent while the queue holds something is this position's: a
// program that has just emptied it wakes up, finds nothing, and still has to hear
// of what comes next. One look at the guest's index, before the event, decides: the
// program moves it meanwhile.
void LateEvents::before_event(CompletionQueue& cq) {
  if (!covers(cq)) return;
  CompletionQueue::LateState& late = cq.late();
  late.arm_seen = false;
  late.pushed_at_event = cq.pushed();
  late.words_at_event = cq.owner()->completion_words;
  late.polls_at_event = cq.owner()->poll_words;
  if (const auto position = cq.position_of_unconsumed()) {
    late.told_at = *position;
    late.told_up_to = cq.pushed();
  }
}

bool LateEvents::presumes_arm(CompletionQueue& cq) {
  const CompletionQueue::LateState& late = cq.late();
  const UserContext& context = *cq.owner();
  return context.completion_words != late.words_at_event &&
         context.poll_words == late.polls_at_event && cq.consumed() >= late.pushed_at_event &&
         spend(cq);
}

void LateEvents::send(CompletionQueue& cq, Counter& counter) {
  counter.add();
  cq.disarm();
  before_event(cq);
  notifier_.completion(cq.handle());
}

bool LateEvents::is_told(CompletionQueue& cq, std::uint64_t position) const {
  return cq.late().told_at == position && cq.late().told_up_to == cq.pushed();
}

void LateEvents::start_window(CompletionQueue& cq, std::uint64_t consumed) {
  CompletionQueue::LateState& late = cq.late();
  if (late.consumed_at_start != consumed) late.waiting_since = clock_.now;
  late.consumed_at_start = consumed;
  late.arm_seen = false;
  late.words_at_start = cq.owner()->completion_words;
}

void LateEvents::queue_up(CompletionQueue& cq, bool rarely) {
  CompletionQueue::LateState& late = cq.late();
  leave(cq);
  late.watched = true;
  late.rarely = rarely;
  late.ticket = ++last_ticket_;
  late.due = clock_.now + (rarely ? config_.watch_ceiling : config_.late_event_after);
  (rarely ? rarely_ : soon_).join(cq, late.place);
}

void LateEvents::leave(CompletionQueue& cq) {
  (cq.late().rarely ? rarely_ : soon_).leave(cq.late().place);
}

void LateEvents::resume(CompletionQueue& cq) {
  CompletionQueue::LateState& late = cq.late();
  late.armed_at = late.waiting_since = late.refilled = clock_.now;
  late.budget = std::min(late.budget, config_.late_event_budget);
  if (late.watched && covers(cq)) {
    queue_up(cq, late.rarely);
  } else {
    late.watched = false;
  }
}

void LateEvents::forget(CompletionQueue& cq) {
  leave(cq);
}

std::uint32_t LateEvents::judge_due() {
  int left = kLatePerTurn;
  run(soon_, left);
  run(rarely_, left);
  return static_cast<std::uint32_t>(kLatePerTurn - left);
}

void LateEvents::run(Line<CompletionQueue>& line, int& left) {
  for (; left > 0 && !line.empty() && line.first()->late().due <= clock_.now; --left) {
    CompletionQueue& cq = *line.call();
    switch (judge(cq)) {
      case Verdict::kDone: cq.late().watched = false; break;
      case Verdict::kQueued: break;
      case Verdict::kAgain: queue_up(cq, false); break;
      case Verdict::kRarely: queue_up(cq, true); break;
    }
  }
}

LateEvents::Verdict LateEvents::judge(CompletionQueue& cq) {
  UserContext& context = *cq.owner();
  if (cq.dead() || cq.unconsumed() == 0) return Verdict::kDone;
  const std::uint64_t ticket = cq.late().ticket;
  watch_.look(context);  // what is in the word now was stored within the window
  if (cq.late().ticket != ticket) return Verdict::kQueued;  // an arm of this very queue
  const std::uint64_t consumed = cq.consumed();
  const CompletionQueue::LateState& late = cq.late();
  const bool spins = !late.arm_seen && context.completion_words != late.words_at_start;
  if (consumed != late.consumed_at_start || spins) {
    start_window(cq, consumed);
    return Verdict::kAgain;
  }
  const bool forgotten = late.arm_seen && clock_.now - late.armed_at >= kForgotten;
  if (is_told(cq, consumed) && !forgotten) return Verdict::kRarely;
  if (!late.arm_seen && !spend(cq)) return Verdict::kRarely;
  send(cq, late.arm_seen ? counters_.events : counters_.late_events);
  counters_.longest_wait_us.raise_to(microseconds(clock_.now - late.waiting_since));
  if (late.budget < config_.late_event_budget / 2) {
    watch_.watch_closely(*cq.owner(), kWakeUpTime);
  }
  return Verdict::kRarely;
}

bool LateEvents::spend(CompletionQueue& cq) {
  CompletionQueue::LateState& late = cq.late();
  const std::uint32_t rate = config_.late_event_refill_per_second;
  if (rate > 0) {
    const Duration per_event = Duration(std::chrono::seconds(1)) / rate;
    const auto earned = (clock_.now - late.refilled) / per_event;
    late.refilled += earned * per_event;
    late.budget = static_cast<std::uint32_t>(std::min<std::int64_t>(
        config_.late_event_budget, std::int64_t{late.budget} + std::max<std::int64_t>(earned, 0)));
  }
  if (late.budget == 0) return false;
  --late.budget;
  return true;
}

}  // namespace paravane::device
