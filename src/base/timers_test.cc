#include "base/timers.h"

#include <gtest/gtest.h>

#include <vector>

namespace paravane {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1000s};

TEST(TimerQueue, RunsDueCallbacksInOrderOfTheirDeadline) {
  TimerQueue timers;
  std::vector<int> ran;
  timers.set(kStart + 2ms, [&](Instant) { ran.push_back(2); });
  timers.set(kStart + 1ms, [&](Instant) { ran.push_back(1); });
  timers.set(kStart + 3ms, [&](Instant) { ran.push_back(3); });

  EXPECT_EQ(timers.run_due(kStart + 2ms), 2u);
  EXPECT_EQ(ran, (std::vector{1, 2}));
  EXPECT_EQ(timers.next_deadline(), kStart + 3ms);
}

TEST(TimerQueue, CancelledTimerNeverRuns) {
  TimerQueue timers;
  bool ran = false;
  const TimerId id = timers.set(kStart, [&](Instant) { ran = true; });
  timers.cancel(id);
  EXPECT_EQ(timers.run_due(kStart + 1s), 0u);
  EXPECT_FALSE(ran);
  EXPECT_EQ(timers.next_deadline(), kNever);
}

TEST(TimerQueue, CallbackMaySetTheNextTimer) {
  TimerQueue timers;
  int runs = 0;
  TimerQueue::Callback again = [&](Instant now) {
    if (++runs < 3) timers.set(now + 1ms, again);
  };
  timers.set(kStart, again);
  EXPECT_EQ(timers.run_due(kStart), 1u);
  EXPECT_EQ(timers.run_due(kStart + 1ms), 1u);
  EXPECT_EQ(timers.run_due(kStart + 2ms), 1u);
  EXPECT_EQ(runs, 3);
}

TEST(TimerQueue, RunsAtMostTheLimit) {
  TimerQueue timers;
  for (int i = 0; i < 10; ++i) timers.set(kStart, [](Instant) {});
  EXPECT_EQ(timers.run_due(kStart, 4), 4u);
  EXPECT_EQ(timers.size(), 6u);
}

}  // namespace
}  // namespace paravane
