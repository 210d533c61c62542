#include "transport/channel/holds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace paravane::transport_channel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using verbs::HostId;
using What = HoldNews::What;

constexpr HostId kHost{1};
constexpr HostId kOther{2};

class HoldsTest : public testing::Test {
 protected:
  Duration begin(Duration wanted) { return holds_.begin(kHost, wanted, now_); }
  void pass(Duration time) {
    now_ += time;
    holds_.run_due(now_);
  }
  std::vector<What> told() const {
    std::vector<What> all;
    for (const HoldNews& one : news_) all.push_back(one.what);
    return all;
  }

  Instant now_ = Instant{} + std::chrono::hours(1);
  std::vector<HoldNews> news_;
  Holds holds_{[this](const HoldNews& news) { news_.push_back(news); }};
};

TEST_F(HoldsTest, AHostIsWaitedForUntilItIsThere) {
  EXPECT_FALSE(holds_.is_held(kHost));
  EXPECT_EQ(begin(seconds(10)), seconds(10));
  EXPECT_TRUE(holds_.is_held(kHost));
  EXPECT_FALSE(holds_.is_held(kOther));
  EXPECT_EQ(holds_.next_due(), now_ + seconds(10));
  pass(seconds(9));
  EXPECT_TRUE(holds_.is_held(kHost));
  holds_.end(kHost, now_);
  EXPECT_FALSE(holds_.is_held(kHost));
  EXPECT_EQ(holds_.next_due(), kNever);
  EXPECT_THAT(told(), ElementsAre(What::kBegun));
}

TEST_F(HoldsTest, OneThatDoesNotComeIsGivenUp) {
  begin(seconds(10));
  pass(seconds(10) - milliseconds(1));
  EXPECT_TRUE(holds_.is_held(kHost));
  pass(milliseconds(1));
  EXPECT_FALSE(holds_.is_held(kHost));
  EXPECT_THAT(told(), ElementsAre(What::kBegun, What::kOver));
  EXPECT_EQ(holds_.counters().over.value(), 1u);
}

TEST_F(HoldsTest, NoneIsWaitedForLongerThanTheBound) {
  EXPECT_EQ(begin(std::chrono::hours(100)), Holds::kMost);
  pass(Holds::kMost);
  EXPECT_FALSE(holds_.is_held(kHost));
  EXPECT_EQ(begin(seconds(1)), Duration::zero());
  EXPECT_FALSE(holds_.is_held(kHost));
  EXPECT_THAT(told(), ElementsAre(What::kBegun, What::kOver, What::kRefused));
}

TEST_F(HoldsTest, AskingAgainDoesNotBeginTheTimeAnew) {
  for (Duration at{}; at < Holds::kMost; at += seconds(5)) {
    EXPECT_EQ(begin(seconds(20)), std::min<Duration>(seconds(20), Holds::kMost - at));
    pass(seconds(5));
  }
  EXPECT_FALSE(holds_.is_held(kHost));
  EXPECT_EQ(begin(seconds(20)), Duration::zero());
}

// However it asks, and whenever it comes and goes: looked at each 250 ms.
TEST_F(HoldsTest, InNoMinuteIsAHostWaitedForMoreThanTheBound) {
  for (const Duration ask : {milliseconds(250), milliseconds(1000), milliseconds(7000)}) {
    for (const Duration wanted : {milliseconds(300), milliseconds(5000), milliseconds(40000)}) {
      Holds holds;
      std::vector<bool> held;
      const Duration step = milliseconds(250);
      for (Duration at{}; at < seconds(300); at += step) {
        const Instant now = now_ + at;
        holds.run_due(now);
        if (at % ask == Duration::zero()) holds.begin(kHost, wanted, now);
        if (at % (3 * ask) == 2 * ask) holds.end(kHost, now);
        held.push_back(holds.is_held(kHost));
      }
      const std::size_t minute = static_cast<std::size_t>(Holds::kWithin / step);
      for (std::size_t from = 0; from + minute <= held.size(); ++from) {
        const auto begin = held.begin() + static_cast<std::ptrdiff_t>(from);
        const auto count = std::count(begin, begin + static_cast<std::ptrdiff_t>(minute), true);
        ASSERT_LE(count * step, Holds::kMost + 2 * step);
      }
    }
  }
}

TEST_F(HoldsTest, WhatWasUsedIsGivenBackAfterAMinute) {
  begin(Holds::kMost);
  pass(Holds::kMost);
  pass(Holds::kWithin - Holds::kMost - seconds(1));
  EXPECT_EQ(begin(Holds::kMost), Duration::zero());
  pass(seconds(11));
  EXPECT_EQ(begin(Holds::kMost), seconds(10));
  holds_.end(kHost, now_);
  pass(Holds::kWithin);
  EXPECT_EQ(begin(Holds::kMost), Holds::kMost);
}

TEST_F(HoldsTest, ShortUpgradesAgainAndAgainAreEachWaitedFor) {
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(begin(seconds(10)), seconds(10)) << i;
    pass(milliseconds(200));
    holds_.end(kHost, now_);
    pass(seconds(10));
  }
}

TEST_F(HoldsTest, ThereAreOnlySoManyPartsInAMinute) {
  std::size_t begun = 0;
  for (int i = 0; i < 1000; ++i) {
    if (begin(milliseconds(10)) > Duration::zero()) ++begun;
    pass(milliseconds(1));
    holds_.end(kHost, now_);
  }
  EXPECT_EQ(begun, Holds::kMostParts);
  EXPECT_EQ(news_.size(), Holds::kMostParts + 1) << "what is refused is told once";
  EXPECT_EQ(holds_.counters().refused.value(), 1000 - Holds::kMostParts);
}

TEST_F(HoldsTest, NoTimeTakesItBack) {
  begin(seconds(10));
  EXPECT_EQ(begin(Duration::zero()), Duration::zero());
  EXPECT_FALSE(holds_.is_held(kHost));
  EXPECT_EQ(begin(-seconds(1)), Duration::zero());
  EXPECT_THAT(told(), ElementsAre(What::kBegun));
}

TEST_F(HoldsTest, AnEngineThatHasTakenOverWaitsForAllHostsThatWereNotThereYet) {
  holds_.begin_all(seconds(10), now_);
  EXPECT_TRUE(holds_.is_held(kHost));
  holds_.end(kHost, now_);
  EXPECT_FALSE(holds_.is_held(kHost));
  EXPECT_TRUE(holds_.is_held(kOther));
  EXPECT_EQ(holds_.next_due(), now_ + seconds(10));
  // One that was there may ask, as always.
  EXPECT_EQ(begin(seconds(5)), seconds(5));
  EXPECT_TRUE(holds_.is_held(kHost));
  pass(seconds(10));
  EXPECT_FALSE(holds_.is_held(kOther));
  EXPECT_FALSE(holds_.holds_all());
}

}  // namespace
}  // namespace paravane::transport_channel
