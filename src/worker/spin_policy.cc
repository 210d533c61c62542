#include "worker/spin_policy.h"

#include <algorithm>

namespace paravane::worker {
namespace {

// An empty round takes a few microseconds at most; more means that we were not
// running.
constexpr Duration kPreemptedGap = std::chrono::microseconds(300);
constexpr Duration kCrowdedFor = std::chrono::milliseconds(100);
constexpr Duration kPoliteSleep = std::chrono::microseconds(20);
// epoll needs about this long to put us to sleep and wake us up.
constexpr Duration kShortestSleep = std::chrono::microseconds(10);

}  // namespace

SpinPolicy::SpinPolicy(SpinMode mode, Duration spin_for, unsigned processors)
    : mode_(mode), spin_for_(spin_for), has_room_(processors > 1) {}

Rest SpinPolicy::after_round(Instant now, bool worked, Instant next_look) {
  const bool preempted = was_spinning_ && now - last_round_ > kPreemptedGap;
  if (mode_ == SpinMode::kAuto && preempted) crowded_until_ = now + kCrowdedFor;
  last_round_ = now;
  was_spinning_ = false;
  if (worked) {
    last_work_ = now;
    return {.kind = Rest::Kind::kGoOn};
  }
  const bool polite = mode_ == SpinMode::kAuto && (!has_room_ || crowded(now));
  const bool may_spin = mode_ != SpinMode::kNever && !polite && now - last_work_ < spin_for_;
  const bool due_soon = next_look <= now || next_look - now < kShortestSleep;
  // Yielding the CPU for another process's whole time slice would take
  // milliseconds; a process that wakes up from a sleep gets it back at once.
  if (polite) {
    return {.kind = Rest::Kind::kSleep, .until = std::max(next_look, now + kPoliteSleep)};
  }
  if (!may_spin && !due_soon) return {.kind = Rest::Kind::kSleep, .until = next_look};
  was_spinning_ = true;
  return {.kind = Rest::Kind::kSpin};
}

}  // namespace paravane::worker
