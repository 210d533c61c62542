#include "worker/turn_schedule.h"

#include <gtest/gtest.h>

#include <string>

#include "worker/fake_tenant.h"

namespace paravane::worker {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

class TurnScheduleTest : public testing::Test {
 protected:
  // A tenant that always has work and uses this much time for each turn.
  void make_busy(FakeTenant& tenant, Duration cost) {
    tenant.busy = true;
    tenant.on_turn = [this, cost](Instant, verbs::Budget&) {
      now_ += cost;
      return true;
    };
    schedule_.add(tenant);
  }
  void run_for(Duration duration) {
    const Instant end = now_ + duration;
    while (now_ < end) schedule_.round();
  }

  Instant now_ = Instant(std::chrono::hours(1));
  // Every look at the clock costs a little, as everything does.
  TurnSchedule schedule_{TurnLimits{}, [this] { return now_ += std::chrono::nanoseconds(50); }};
  FakeTenant calm_;
  FakeTenant other_;
  FakeTenant greedy_;
};

TEST_F(TurnScheduleTest, GivesNoTurnToThoseWhoWantNone) {
  schedule_.add(calm_);
  EXPECT_FALSE(schedule_.round());
  EXPECT_EQ(calm_.turns, 0u);
  EXPECT_EQ(schedule_.next_look(now_), kNever);
}

TEST_F(TurnScheduleTest, TheTurnClockShowsWhenATurnBegan) {
  schedule_.add(greedy_);
  schedule_.add(other_);
  const auto look = [this](Instant now, verbs::Budget&) {
    EXPECT_EQ(schedule_.turn_clock().now, now);
    now_ += milliseconds(1);
    EXPECT_EQ(schedule_.turn_clock().now, now);
    return true;
  };
  greedy_.busy = other_.busy = true;
  greedy_.on_turn = other_.on_turn = look;
  schedule_.round();
  EXPECT_EQ(other_.turns, 1u);
  EXPECT_EQ(schedule_.turn_clock().now, now_);
}

TEST_F(TurnScheduleTest, GivesATurnWhenOneIsDue) {
  schedule_.add(calm_);
  calm_.due = now_ + milliseconds(1);
  schedule_.round();
  EXPECT_EQ(calm_.turns, 0u);
  EXPECT_EQ(schedule_.next_look(now_), calm_.due);
  now_ += milliseconds(1);
  EXPECT_TRUE(schedule_.round());
  EXPECT_EQ(calm_.turns, 1u);
}

TEST_F(TurnScheduleTest, GivesEqualBudgets) {
  make_busy(calm_, microseconds(1));
  make_busy(other_, microseconds(1));
  run_for(milliseconds(1));
  EXPECT_EQ(calm_.last_budget.bytes, other_.last_budget.bytes);
  EXPECT_EQ(calm_.last_budget.operations, other_.last_budget.operations);
  EXPECT_NEAR(calm_.turns, other_.turns, 1);
}

// Who overruns its share (a flood of messages, a long command) pays it back.
TEST_F(TurnScheduleTest, GreedyTenantGetsItsShareOfTimeAndNoMore) {
  make_busy(greedy_, milliseconds(2));
  make_busy(calm_, microseconds(80));
  run_for(std::chrono::seconds(1));
  const auto greedy_us = greedy_.turn_counters().busy_us.value();
  const auto calm_us = calm_.turn_counters().busy_us.value();
  EXPECT_GT(calm_us, 400'000u);
  EXPECT_GT(greedy_us, 400'000u);
  EXPECT_GE(calm_.turns, 10 * greedy_.turns);
  EXPECT_GT(greedy_.turn_counters().put_off.value(), 0u);
  EXPECT_EQ(calm_.turn_counters().put_off.value(), 0u);
}

TEST_F(TurnScheduleTest, OthersKeepHalfOfTheTurnsBesideAFlood) {
  make_busy(greedy_, microseconds(500));
  make_busy(calm_, microseconds(20));
  make_busy(other_, microseconds(20));
  run_for(milliseconds(200));
  EXPECT_GE(calm_.turns, 2 * greedy_.turns);
  EXPECT_GE(other_.turns, 2 * greedy_.turns);
}

TEST_F(TurnScheduleTest, TenantAloneIsNotHeldBack) {
  make_busy(greedy_, milliseconds(2));
  run_for(std::chrono::seconds(1));
  EXPECT_GT(greedy_.turn_counters().busy_us.value(), 990'000u);
}

TEST_F(TurnScheduleTest, ForgivesAnAbsurdDebt) {
  make_busy(greedy_, microseconds(10));
  make_busy(calm_, microseconds(10));
  schedule_.round();
  greedy_.on_turn = [this](Instant, verbs::Budget&) {
    now_ += std::chrono::hours(1);  // the machine was suspended
    return true;
  };
  schedule_.round();
  make_busy(other_, microseconds(10));
  greedy_.on_turn = nullptr;
  const unsigned before = greedy_.turns;
  run_for(std::chrono::seconds(2));
  EXPECT_GT(greedy_.turns, before);
}

TEST_F(TurnScheduleTest, WhoUsedTimePaysAllOfIt) {
  make_busy(greedy_, microseconds(10));
  make_busy(calm_, microseconds(10));
  schedule_.round();
  greedy_.on_turn = [this](Instant, verbs::Budget&) {
    now_ += milliseconds(100);
    return true;
  };
  schedule_.round();
  greedy_.on_turn = nullptr;
  const unsigned before = greedy_.turns;
  // A share of 100 us is paid back in each round.
  for (int round = 0; round < 990; ++round) schedule_.round();
  EXPECT_EQ(greedy_.turns, before);
  for (int round = 0; round < 20; ++round) schedule_.round();
  EXPECT_GT(greedy_.turns, before);
}

TEST_F(TurnScheduleTest, CountsATurnWithoutWorkAsNone) {
  schedule_.add(calm_);
  calm_.due = now_;
  calm_.on_turn = [](Instant, verbs::Budget&) { return false; };
  EXPECT_FALSE(schedule_.round());
  EXPECT_EQ(calm_.turns, 1u);
  EXPECT_EQ(calm_.turn_counters().turns.value(), 0u);
}

TEST_F(TurnScheduleTest, AnotherOneBeginsEachRound) {
  std::string order;
  for (auto [tenant, letter] : {std::pair{&calm_, 'a'}, {&other_, 'b'}, {&greedy_, 'c'}}) {
    tenant->busy = true;
    tenant->on_turn = [&order, letter](Instant, verbs::Budget&) {
      order += letter;
      return true;
    };
    schedule_.add(*tenant);
  }
  for (int i = 0; i < 3; ++i) schedule_.round();
  EXPECT_EQ(order, "abcbcacab");
}

TEST_F(TurnScheduleTest, TenantCanBeRemoved) {
  make_busy(calm_, microseconds(1));
  make_busy(other_, microseconds(1));
  schedule_.round();
  schedule_.remove(calm_);
  schedule_.round();
  EXPECT_EQ(calm_.turns, 1u);
  EXPECT_EQ(other_.turns, 2u);
}

// Whose worker also has the processor taken from it, or not.
class ProcessorTimeTest : public TurnScheduleTest {
 protected:
  ProcessorTimeTest() {
    calm_.busy = greedy_.busy = true;
    uses(calm_, microseconds(80));
    measured_.add(greedy_);
    measured_.add(calm_);
  }
  // Each turn of `tenant` takes this from now on.
  void uses(FakeTenant& tenant, Duration processor) {
    tenant.on_turn = [this, processor](Instant, verbs::Budget&) {
      now_ += processor;
      used_ += processor;
      return true;
    };
  }
  void run_rounds(int rounds) {
    for (int round = 0; round < rounds; ++round) measured_.round();
  }

  Duration used_{};
  TurnSchedule measured_{TurnLimits{}, [this] { return now_ += std::chrono::nanoseconds(50); },
                         [this] { return used_; }};
};

TEST_F(ProcessorTimeTest, WhatAnotherProcessHadIsNotCharged) {
  greedy_.on_turn = [&](Instant, verbs::Budget&) {
    now_ += greedy_.turns == 1 ? milliseconds(50) : microseconds(80);
    used_ += microseconds(80);
    return true;
  };
  run_rounds(100);
  EXPECT_NEAR(greedy_.turns, calm_.turns, 15);
}

TEST_F(ProcessorTimeTest, ALongTurnIsChargedAllThatItTook) {
  uses(greedy_, milliseconds(5));
  run_rounds(500);
  EXPECT_LE(greedy_.turns, 11u);
}

}  // namespace
}  // namespace paravane::worker
