#include "worker/spin_policy.h"

#include <gtest/gtest.h>

namespace paravane::worker {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using Kind = Rest::Kind;

constexpr Instant kStart = Instant(std::chrono::hours(1));
constexpr Duration kSpin = microseconds(200);

TEST(SpinPolicy, GoesOnWhileThereIsWork) {
  for (const SpinMode mode : {SpinMode::kAuto, SpinMode::kAlways, SpinMode::kNever}) {
    SpinPolicy policy(mode, kSpin, 4);
    EXPECT_EQ(policy.after_round(kStart, true, kNever).kind, Kind::kGoOn);
  }
}

TEST(SpinPolicy, SpinsForAWhileThenSleepsUntilSomethingIsDue) {
  SpinPolicy policy(SpinMode::kAuto, kSpin, 4);
  policy.after_round(kStart, true, kNever);
  EXPECT_EQ(policy.after_round(kStart + microseconds(100), false, kNever).kind, Kind::kSpin);
  const Instant due = kStart + milliseconds(5);
  const Rest rest = policy.after_round(kStart + microseconds(200), false, due);
  EXPECT_EQ(rest.kind, Kind::kSleep);
  EXPECT_EQ(rest.until, due);
}

TEST(SpinPolicy, SleepsForEverWhenNobodyWantsToLook) {
  SpinPolicy policy(SpinMode::kAuto, kSpin, 4);
  const Rest rest = policy.after_round(kStart, false, kNever);
  EXPECT_EQ(rest.kind, Kind::kSleep);
  EXPECT_EQ(rest.until, kNever);
}

TEST(SpinPolicy, SleepsAtOnceIfToldNeverToSpin) {
  SpinPolicy policy(SpinMode::kNever, kSpin, 4);
  policy.after_round(kStart, true, kNever);
  EXPECT_EQ(policy.after_round(kStart + microseconds(1), false, kNever).kind, Kind::kSleep);
}

TEST(SpinPolicy, DoesNotSleepForWhatIsDueAlready) {
  SpinPolicy policy(SpinMode::kNever, kSpin, 4);
  EXPECT_EQ(policy.after_round(kStart, false, kStart).kind, Kind::kSpin);
  EXPECT_EQ(policy.after_round(kStart, false, kStart - milliseconds(1)).kind, Kind::kSpin);
  EXPECT_EQ(policy.after_round(kStart, false, kStart + microseconds(3)).kind, Kind::kSpin);
}

TEST(SpinPolicy, GivesWayWhereOthersNeedTheProcessor) {
  SpinPolicy policy(SpinMode::kAuto, milliseconds(100), 4);
  policy.after_round(kStart, true, kNever);
  EXPECT_EQ(policy.after_round(kStart + microseconds(10), false, kNever).kind, Kind::kSpin);
  // A round that took a millisecond: somebody else was running.
  const Instant later = kStart + milliseconds(1);
  const Rest rest = policy.after_round(later, false, later);
  EXPECT_EQ(rest.kind, Kind::kSleep);
  EXPECT_EQ(rest.until, later + microseconds(20)) << "short, to have it again at once";
  EXPECT_EQ(policy.after_round(later + microseconds(1), false, kNever).kind, Kind::kSleep);
  const Instant calm = later + milliseconds(200);
  policy.after_round(calm, true, kNever);
  EXPECT_EQ(policy.after_round(calm + microseconds(1), false, kNever).kind, Kind::kSpin);
}

TEST(SpinPolicy, DoesNotTakeItsOwnSleepForBeingPreempted) {
  SpinPolicy policy(SpinMode::kAuto, kSpin, 4);
  EXPECT_EQ(policy.after_round(kStart, false, kNever).kind, Kind::kSleep);
  policy.after_round(kStart + milliseconds(50), false, kNever);
  EXPECT_FALSE(policy.crowded(kStart + milliseconds(50)));
}

TEST(SpinPolicy, InsistsIfToldAlwaysToSpin) {
  SpinPolicy policy(SpinMode::kAlways, milliseconds(100), 1);
  policy.after_round(kStart, true, kNever);
  EXPECT_EQ(policy.after_round(kStart + microseconds(10), false, kNever).kind, Kind::kSpin);
  EXPECT_EQ(policy.after_round(kStart + milliseconds(5), false, kNever).kind, Kind::kSpin);
}

TEST(SpinPolicy, NeverSpinsOnTheOnlyProcessor) {
  SpinPolicy policy(SpinMode::kAuto, kSpin, 1);
  policy.after_round(kStart, true, kNever);
  EXPECT_EQ(policy.after_round(kStart + microseconds(10), false, kNever).kind, Kind::kSleep);
  EXPECT_EQ(policy.after_round(kStart + microseconds(10), false, kStart).kind, Kind::kSleep);
}

}  // namespace
}  // namespace paravane::worker
