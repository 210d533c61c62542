#include "worker/turn_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "testing/wait_until.h"

namespace paravane::worker {
namespace {

constexpr Duration kLimit = std::chrono::seconds(5);

class TurnJudgeTest : public testing::Test {
 protected:
  // Looks for this long; what was told last.
  std::optional<TurnNews> look_for(Duration time, bool is_due = true) {
    std::optional<TurnNews> last;
    for (const Instant end = now_ + time; now_ < end;) {
      now_ += kTurnLook;
      if (auto news = judge_.look(now_, turns_, is_due)) last = news;
    }
    return last;
  }

  Instant now_{std::chrono::hours(1)};
  std::uint64_t turns_ = 1;
  TurnJudge judge_{kLimit};
};

TEST_F(TurnJudgeTest, TellsOfAWorkerThatDoesNotTurn) {
  EXPECT_FALSE(look_for(kLimit));
  const auto news = look_for(kTurnLook);
  ASSERT_TRUE(news);
  EXPECT_TRUE(news->is_held);
  EXPECT_EQ(news->lasted, kLimit);
}

TEST_F(TurnJudgeTest, TellsOnce) {
  EXPECT_TRUE(look_for(2 * kLimit));
  EXPECT_FALSE(look_for(100 * kLimit));
}

TEST_F(TurnJudgeTest, TellsThatItTurnsAgain) {
  look_for(2 * kLimit);
  ++turns_;
  const auto news = look_for(kTurnLook);
  ASSERT_TRUE(news);
  EXPECT_FALSE(news->is_held);
  EXPECT_EQ(news->lasted, 2 * kLimit - kTurnLook);
  EXPECT_FALSE(judge_.is_held());
}

TEST_F(TurnJudgeTest, AnySingleTurnWillDo) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(look_for(kLimit - kTurnLook));
    ++turns_;
  }
}

TEST_F(TurnJudgeTest, OneThatSleepsWithNothingToDoIsNotHeld) {
  EXPECT_FALSE(look_for(100 * kLimit, false));
  EXPECT_FALSE(look_for(kLimit - kTurnLook)) << "its time begins when there is something";
}

// SIGSTOP, a debugger, a host that was suspended.
TEST_F(TurnJudgeTest, TimeInWhichTheWatchDidNotRunIsNotTheWorkers) {
  look_for(kTurnLook);
  now_ += 100 * kLimit;
  EXPECT_FALSE(look_for(kTurnLook));
}

class TurnWatchTest : public testing::Test {
 protected:
  TurnCount count_;
  std::atomic<bool> has_message_ = false;
  std::atomic<int> held_ = 0;
  std::atomic<int> went_on_ = 0;
  std::unique_ptr<TurnWatch> watch_ = std::make_unique<TurnWatch>(
      count_, 2 * kTurnLook, [this] { return has_message_.load(); },
      [this](const TurnNews& news) { ++(news.is_held ? held_ : went_on_); });
};

TEST_F(TurnWatchTest, ToldThatItIsHeldAndThatItTurns) {
  wait_until([this] { return held_ == 1; });
  EXPECT_TRUE(watch_->state().is_held);
  EXPECT_EQ(watch_->state().holds, 1u);
  count_.turned();
  wait_until([this] { return went_on_ == 1; });
  EXPECT_FALSE(watch_->state().is_held);
}

TEST_F(TurnWatchTest, LooksAgainWhenTheWorkerWakesUp) {
  count_.turned();
  count_.falls_asleep();
  wait_until([this] { return !count_.is_watched(); });
  count_.wakes_up();
  wait_until([this] { return held_ == 1; });
}

TEST_F(TurnWatchTest, LooksWhenASleeperHasAMessage) {
  count_.falls_asleep();
  wait_until([this] { return !count_.is_watched(); });
  has_message_ = true;
  count_.expect();
  wait_until([this] { return held_ == 1; });
}

TEST_F(TurnWatchTest, EndsWhileItLooksAtNothing) {
  count_.falls_asleep();
  wait_until([this] { return !count_.is_watched(); });
  watch_.reset();
}

}  // namespace
}  // namespace paravane::worker
