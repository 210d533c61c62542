#include "worker/worker.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "testing/wait_until.h"
#include "worker/fake_tenant.h"

namespace paravane::worker {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

std::unique_ptr<Worker> start(const WorkerConfig& config = {}) {
  auto worker = Worker::start(config);
  EXPECT_TRUE(worker);
  return std::move(*worker);
}

TEST(Worker, AnswersManyQuestionsWithoutSleepingOverOne) {
  const auto worker = start();
  for (int i = 0; i < 2000; ++i) {
    ASSERT_EQ(worker->ask([i] { return i; }), i);
    if (i % 50 == 0) std::this_thread::sleep_for(microseconds(300));  // lets it fall asleep
  }
}

TEST(Worker, SleepsWhenNobodyWantsATurn) {
  const auto worker = start({.spin_for = microseconds(10)});
  FakeTenant idle;
  worker->ask([&] { return worker->schedule().add(idle), true; });
  std::this_thread::sleep_for(milliseconds(20));
  const auto before = worker->ask([&] { return worker->counters().rounds.value(); });
  std::this_thread::sleep_for(milliseconds(200));
  const auto after = worker->ask([&] { return worker->counters().rounds.value(); });
  ASSERT_TRUE(before && after);
  EXPECT_LE(*after - *before, 20u) << "rounds are made for the two questions alone";
  worker->ask([&] { return worker->schedule().remove(idle), true; });
}

TEST(Worker, ToldThatItIsHeldAndThatItGoesOn) {
  std::atomic<int> held{0};
  std::atomic<int> went_on{0};
  const auto worker =
      start({.on_held = [&](const TurnNews& news) { ++(news.is_held ? held : went_on); },
             .held_after = 2 * kTurnLook});
  std::atomic<bool> let_go = false;
  worker->post([&] { wait_until([&] { return let_go.load(); }); });
  wait_until([&] { return held == 1; });
  EXPECT_TRUE(worker->turn_state()->is_held);
  let_go = true;
  wait_until([&] { return went_on == 1; });
  EXPECT_FALSE(worker->turn_state()->is_held);
}

TEST(Worker, TellsThatItTurnsAlsoWithNothingToDo) {
  const auto worker = start({.spin = SpinMode::kNever});
  std::atomic<int> told{0};
  worker->tell_turns(milliseconds(10), [&] { ++told; });
  wait_until([&] { return told >= 5; });
  const auto rounds = worker->ask([&] { return worker->counters().rounds.value(); });
  ASSERT_TRUE(rounds);
  EXPECT_LE(*rounds, 200u) << "a round for each, and some for the messages";
  worker->tell_turns(std::chrono::hours(1), [&] { told = 1000; });
  wait_until([&] { return told == 1000; });
}

TEST(Worker, DoesNotTellThatItTurnsWhileItDoesNot) {
  const auto worker = start();
  std::atomic<int> told{0};
  worker->tell_turns(milliseconds(1), [&] { ++told; });
  wait_until([&] { return told >= 2; });
  std::atomic<bool> is_held = false;
  std::atomic<bool> let_go = false;
  worker->post([&] {
    is_held = true;
    wait_until([&] { return let_go.load(); });
  });
  wait_until([&] { return is_held.load(); });
  const int before = told;
  std::this_thread::sleep_for(milliseconds(30));
  EXPECT_EQ(told, before);
  let_go = true;
  wait_until([&] { return told > before; });
}

TEST(Worker, WakesUpWhenATurnIsDue) {
  const auto worker = start({.spin = SpinMode::kNever});
  FakeTenant tenant;
  std::atomic<int> turns{0};
  tenant.on_turn = [&](Instant now, verbs::Budget&) {
    tenant.due = now + milliseconds(1);
    ++turns;
    return false;
  };
  worker->ask([&] {
    tenant.due = std::chrono::steady_clock::now();
    worker->schedule().add(tenant);
    return true;
  });
  for (int i = 0; i < 5000 && turns < 10; ++i) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_GE(turns, 10);
  worker->ask([&] { return worker->schedule().remove(tenant), true; });
}

TEST(Worker, WatchesDescriptorsWhileTenantsAreBusy) {
  const auto worker = start();
  FakeTenant busy;
  busy.busy = true;
  const UniqueFd event(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
  std::atomic<bool> seen{false};
  worker->ask([&] {
    worker->schedule().add(busy);
    return worker->loop()
        .watch(event.get(), EPOLLIN,
               [&](std::uint32_t) {
                 seen = true;
                 worker->loop().unwatch(event.get());
               })
        .has_value();
  });
  for (int i = 0; i < 5000 && !seen; ++i) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(seen);
  worker->ask([&] { return worker->schedule().remove(busy), true; });
}

TEST(Worker, IsHeldAsleepForATest) {
  const auto worker = start({.stall = {.every = milliseconds(1), .longest = microseconds(500)}});
  FakeTenant busy;
  busy.busy = true;
  worker->ask([&] { return worker->schedule().add(busy), true; });
  std::uint64_t stalls = 0;
  for (int i = 0; i < 5000 && stalls < 5; ++i) {
    std::this_thread::sleep_for(milliseconds(1));
    stalls = worker->ask([&] { return worker->counters().stalls.value(); }).value_or(0);
  }
  EXPECT_GE(stalls, 5u);
  worker->ask([&] { return worker->schedule().remove(busy), true; });
}

TEST(Worker, StandsStillUntilTheThawAndIsNotToldAsHeld) {
  std::atomic<int> held{0};
  const auto worker = start({.on_held = [&](const TurnNews& news) { held += news.is_held ? 1 : 0; },
                             .held_after = kTurnLook});
  FakeTenant busy;
  busy.busy = true;
  std::atomic<int> turns{0};
  busy.on_turn = [&](Instant, verbs::Budget&) { return ++turns > 0; };
  worker->ask([&] { return worker->schedule().add(busy), true; });
  wait_until([&] { return turns > 10; });
  int at_freeze = 0;
  ASSERT_TRUE(worker->freeze([&] { at_freeze = turns; }));
  std::atomic<bool> ran{false};
  worker->post([&] { ran = true; });
  std::this_thread::sleep_for(4 * kTurnLook);
  EXPECT_EQ(turns, at_freeze);
  EXPECT_FALSE(ran);
  EXPECT_EQ(held, 0);
  worker->thaw();
  wait_until([&] { return turns > at_freeze && ran; });
  worker->ask([&] { return worker->schedule().remove(busy), true; });
}

TEST(Worker, IsFrozenOnlyIfItResponds) {
  const auto worker = start();
  std::atomic<bool> let_go{false};
  std::atomic<bool> acted{false};
  worker->post([&] { wait_until([&] { return let_go.load(); }); });
  EXPECT_FALSE(worker->freeze([&] { acted = true; }));
  worker->thaw();
  let_go = true;
  EXPECT_EQ(worker->ask([] { return 1; }), 1);
  EXPECT_FALSE(acted);
}

TEST(Worker, CarriesOutMessagesBeforeItBeginsTurns) {
  const auto worker = start({.waits_for_begin = true});
  FakeTenant busy;
  busy.busy = true;
  std::atomic<int> turns{0};
  busy.on_turn = [&](Instant, verbs::Budget&) { return ++turns > 0; };
  const UniqueFd event(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
  std::atomic<bool> seen{false};
  worker->ask([&] {
    worker->schedule().add(busy);
    return worker->loop()
        .watch(event.get(), EPOLLIN,
               [&](std::uint32_t) {
                 seen = true;
                 worker->loop().unwatch(event.get());
               })
        .has_value();
  });
  for (int i = 0; i < 100; ++i) ASSERT_EQ(worker->ask([i] { return i; }), i);
  EXPECT_EQ(turns, 0);
  EXPECT_FALSE(seen);
  worker->begin_turns();
  wait_until([&] { return turns > 0 && seen; });
  worker->ask([&] { return worker->schedule().remove(busy), true; });
}

TEST(WorkerStall, IsOffByDefaultAndBounded) {
  WorkerStall off({});
  EXPECT_EQ(off.due(Instant(std::chrono::hours(1))), Duration::zero());
  WorkerStall stall({.every = milliseconds(2), .longest = microseconds(100), .seed = 7});
  Duration total{};
  for (Instant now = Instant(std::chrono::hours(1));
       now < Instant(std::chrono::hours(1) + std::chrono::seconds(1)); now += microseconds(50)) {
    const Duration length = stall.due(now);
    ASSERT_LE(length, microseconds(100));
    total += length;
  }
  EXPECT_GT(total, Duration::zero());
  EXPECT_NEAR(static_cast<double>(stall.count()), 500, 150);
}

}  // namespace
}  // namespace paravane::worker
