#include "keeper/engine_watch.h"

#include <gtest/gtest.h>

namespace paravane::keeper {
namespace {

using std::chrono::seconds;
using Act = EngineWatch::Act;
using Life = EngineWatch::Life;

constexpr Duration kLimit = seconds(60);
constexpr Duration kLongestChange = seconds(180);

// A keeper that runs when something is due, and a service manager that has a limit.
class EngineWatchTest : public testing::Test {
 protected:
  void SetUp() override { act(watch_.step(now_, Life::kServing)); }

  void act(Act act) {
    demands_ += act == Act::kDemand ? 1 : 0;
    kills_ += act == Act::kKill ? 1 : 0;
    if (act == Act::kFeed) feed();
  }
  void feed() {
    longest_ = std::max(longest_, now_ - fed_);
    fed_ = now_;
    ++feeds_;
  }
  void sign() {
    if (watch_.on_turns(now_)) feed();
  }
  // With a sign each `every`; zero: none.
  void pass(Duration time, Duration every = {}, Life life = Life::kServing) {
    act(watch_.step(now_, life));  // whatever brought it about has woken the keeper
    Instant next_sign = every == Duration{} ? kNever : now_ + every;
    for (const Instant end = now_ + time;;) {
      const Instant next = std::min({end, next_sign, watch_.next_step()});
      if (next > now_) ++wakes_;
      now_ = std::max(now_, next);
      if (now_ >= next_sign) {
        sign();
        next_sign = now_ + every;
      }
      act(watch_.step(now_, life));
      if (now_ >= end) break;
    }
    longest_ = std::max(longest_, now_ - fed_);
  }

  Instant now_ = Instant{} + std::chrono::hours(1);
  EngineWatch watch_{kLimit, kLongestChange};
  Instant fed_ = now_;
  Duration longest_{};  // without word to the service manager
  int feeds_ = 0;
  int demands_ = 0;
  int kills_ = 0;
  int wakes_ = 0;
};

TEST_F(EngineWatchTest, TellsTheServiceManagerWithEachSign) {
  EXPECT_EQ(watch_.every(), seconds(20));
  pass(seconds(600), watch_.every());
  EXPECT_EQ(feeds_, 30);
  EXPECT_EQ(longest_, seconds(20));
  EXPECT_EQ(kills_, 0);
  EXPECT_EQ(demands_, 1) << "at the beginning";
  EXPECT_LE(wakes_, 30) << "one for each sign";
}

TEST_F(EngineWatchTest, WithoutASignItTellsNothingAndKillsInTime) {
  pass(seconds(40), watch_.every());
  const Instant last = fed_;
  const int before = feeds_;
  pass(seconds(49));
  EXPECT_EQ(kills_, 0);
  pass(seconds(1));
  EXPECT_EQ(kills_, 1);
  EXPECT_EQ(feeds_, before);
  EXPECT_LT(now_ - last, kLimit) << "the service manager would have ended all of the daemon";
  EXPECT_EQ(watch_.overdue(), seconds(30));
}

TEST_F(EngineWatchTest, KillsOnceAndIsNotHeldOffByALateSign) {
  pass(seconds(50));
  ASSERT_EQ(kills_, 1);
  sign();
  pass(seconds(600));
  EXPECT_EQ(kills_, 1);
  EXPECT_EQ(feeds_, 0) << "an engine that cannot even be killed is the service manager's";
}

TEST_F(EngineWatchTest, ASignInTimeWillDo) {
  for (int i = 0; i < 10; ++i) {
    pass(seconds(49));
    sign();
  }
  EXPECT_EQ(kills_, 0);
  EXPECT_EQ(feeds_, 10);
  EXPECT_LT(longest_, kLimit);
}

TEST_F(EngineWatchTest, DemandsAgainWhatAnEngineHasNotRead) {
  pass(seconds(30));
  EXPECT_GE(demands_, 2);
  EXPECT_LE(demands_, 3);
}

// SIGSTOP of the whole daemon, a cgroup that was frozen.
TEST_F(EngineWatchTest, TimeInWhichTheKeeperDidNotRunIsNotTheEngines) {
  pass(seconds(20), watch_.every());
  now_ += std::chrono::hours(1);
  act(watch_.step(now_, Life::kServing));
  EXPECT_EQ(kills_, 0);
  now_ += std::chrono::hours(1);
  act(watch_.step(now_, Life::kServing));
  EXPECT_EQ(kills_, 0);
  pass(seconds(10));
  EXPECT_EQ(kills_, 0);
}

TEST_F(EngineWatchTest, AnEngineThatIsReplacedNeedsNoSignForAsLongAsThatMayTake) {
  pass(kLongestChange, {}, Life::kChanging);
  EXPECT_EQ(longest_, watch_.every());
  EXPECT_EQ(kills_, 0);
  const int before = feeds_;
  pass(seconds(600), {}, Life::kChanging);
  EXPECT_EQ(feeds_, before) << "a change that does not end is the service manager's";
}

TEST_F(EngineWatchTest, AnotherEngineIsDemandedSignsOfAndHasTime) {
  pass(seconds(50));
  ASSERT_EQ(kills_, 1);
  pass(seconds(1), {}, Life::kChanging);
  EXPECT_EQ(feeds_, 1);
  const int before = demands_;
  pass(seconds(1));
  EXPECT_EQ(demands_, before + 1);
  pass(seconds(48));
  EXPECT_EQ(kills_, 1);
  pass(seconds(1));
  EXPECT_EQ(kills_, 2);
}

TEST_F(EngineWatchTest, ATalkativeEngineIsPassedOnSeldom) {
  pass(seconds(60), std::chrono::milliseconds(1));
  EXPECT_LE(feeds_, 6);
  EXPECT_EQ(kills_, 0);
}

TEST_F(EngineWatchTest, OneThatStopsIsLeftToTheServiceManager) {
  pass(seconds(600), {}, Life::kAway);
  sign();
  EXPECT_EQ(feeds_, 0);
  EXPECT_EQ(kills_, 0);
  EXPECT_EQ(watch_.next_step(), kNever);
}

TEST(EngineWatchWithoutAWatchdog, IsDueAtNoTime) {
  EngineWatch watch({}, kLongestChange);
  Instant now = Instant{} + std::chrono::hours(1);
  for (const auto life : {Life::kAway, Life::kServing, Life::kChanging, Life::kServing}) {
    EXPECT_EQ(watch.step(now, life), Act::kNothing);
    EXPECT_FALSE(watch.on_turns(now));
    EXPECT_EQ(watch.next_step(), kNever);
    now += std::chrono::hours(1);
  }
}

TEST(EngineWatchLimit, HasALeast) {
  EXPECT_EQ(EngineWatch(Duration(1), kLongestChange).every(), EngineWatch::kLeast / 3);
}

}  // namespace
}  // namespace paravane::keeper
