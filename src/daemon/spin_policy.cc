#include "daemon/spin_policy.h"

namespace paravane::daemon {
namespace {

// An empty round takes a few microseconds at most; more means that we were not
// running.
constexpr Duration kPreemptedGap = std::chrono::microseconds(300);
constexpr Duration kCrowdedFor = std::chrono::milliseconds(10);
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
  if (!may_spin && !due_soon) return {.kind = Rest::Kind::kSleep, .until = next_look};
  was_spinning_ = true;
  return {.kind = polite ? Rest::Kind::kYield : Rest::Kind::kSpin};
}

}  // namespace paravane::daemon
