// The watch on mapped doorbell pages: a doorbell is a hint and the ring's index
// is the truth, lost arms are made good by late events, quiet pages cost little
// and hostile ones no more (ARCHITECTURE.md, "Doorbells").

#include <algorithm>

#include "test_rig.h"

namespace paravane::fake {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

RigOptions one_vm() {
  RigOptions options;
  options.vms = 1;
  return options;
}

// A process with a queue and a source of completions for it.
struct Program {
  explicit Program(FakeGuest& guest, std::uint32_t entries = 64)
      : context(guest.open_context()),
        pd(guest.create_pd(context)),
        cq(guest.create_cq(context, entries)),
        source(guest, pd, cq, entries) {}
  FakeContext& context;
  FakePd& pd;
  FakeCq& cq;
  FlushSource source;
};

std::uint64_t new_events(FakeGuest& guest, FakeCq& cq) {
  const std::uint64_t before = cq.events();
  guest.handle_interrupts();
  return cq.events() - before;
}

TEST(DoorbellWatch, APollStoredOverAnArmStillWakesTheProgram) {
  TestRig rig(one_vm());
  Program program(rig.guest());
  program.cq.arm();
  pvrdma_cqe completion{};
  EXPECT_FALSE(program.cq.poll(completion));  // its POLL lies over the ARM
  ASSERT_TRUE(program.source.produce());
  rig.advance(milliseconds(3));
  EXPECT_EQ(new_events(rig.guest(), program.cq), 1u);
  EXPECT_EQ(rig.device().counters().late_events.value(), 1u);
  EXPECT_GE(rig.device().counters().longest_wait_us.value(), 50u);
}

TEST(DoorbellWatch, AnArmThatIsSeenIsExact) {
  TestRig rig(one_vm());
  Program program(rig.guest());
  program.cq.arm();
  rig.settle();
  EXPECT_EQ(rig.device().counters().arms.value(), 1u);
  ASSERT_TRUE(program.source.produce());
  rig.settle();
  EXPECT_EQ(new_events(rig.guest(), program.cq), 1u);
  EXPECT_EQ(rig.device().counters().late_events.value(), 0u);
  EXPECT_EQ(rig.device().counters().events.value(), 1u);
}

TEST(DoorbellWatch, AnArmSeenWhileCompletionsWaitFiresWhenTheyAreNotTaken) {
  TestRig rig(one_vm());
  Program program(rig.guest());
  rig.settle();
  ASSERT_TRUE(program.source.produce());
  program.cq.arm();
  rig.advance(milliseconds(3));
  EXPECT_EQ(new_events(rig.guest(), program.cq), 1u);
  EXPECT_EQ(rig.device().counters().late_events.value(), 0u) << "it was armed";
}

TEST(DoorbellWatch, AProgramThatArmsAndThenTakesIsNotWokenForWhatItTook) {
  TestRig rig(one_vm());
  Program program(rig.guest());
  rig.settle();
  for (int round = 0; round < 100; ++round) {
    program.cq.arm();
    rig.settle();
    ASSERT_TRUE(program.source.produce());
    rig.settle();
    EXPECT_EQ(new_events(rig.guest(), program.cq), 1u) << "round " << round;
    program.cq.arm();  // as ibv_rc_pingpong and perftest do: arm, then take
    rig.advance(microseconds(20));
    pvrdma_cqe completion{};
    ASSERT_TRUE(program.cq.take(completion));
    rig.advance(milliseconds(3));
    EXPECT_EQ(new_events(rig.guest(), program.cq), 0u) << "round " << round;
  }
}

TEST(DoorbellWatch, AnEventForAQueueThatWasEmptiedMeanwhileLeavesNothingUntold) {
  TestRig rig(one_vm());
  Program program(rig.guest());
  rig.settle();
  pvrdma_cqe completion{};
  ASSERT_TRUE(program.source.produce());
  rig.settle();
  program.cq.arm();  // seen while the completion waits...
  rig.settle();
  ASSERT_TRUE(program.cq.take(completion));  // ...which is taken before any event
  EXPECT_FALSE(program.cq.poll(completion));
  rig.advance(milliseconds(3));
  new_events(rig.guest(), program.cq);
  ASSERT_TRUE(program.source.produce());
  rig.advance(milliseconds(3));
  EXPECT_EQ(new_events(rig.guest(), program.cq), 1u);
}

TEST(DoorbellWatch, OneLateEventPerMovementOfTheConsumer) {
  TestRig rig(one_vm());
  Program program(rig.guest());
  ASSERT_TRUE(program.source.produce(3));
  rig.advance(milliseconds(50));
  EXPECT_EQ(new_events(rig.guest(), program.cq), 1u);
  rig.advance(seconds(1));
  EXPECT_EQ(new_events(rig.guest(), program.cq), 0u) << "the consumer has not moved";
  pvrdma_cqe completion{};
  ASSERT_TRUE(program.cq.take(completion));
  rig.advance(milliseconds(50));
  EXPECT_EQ(new_events(rig.guest(), program.cq), 1u);
}

TEST(DoorbellWatch, ASpinningProgramGetsNoLateEvents) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  Program program(guest);
  FakeCq& spun_on = guest.create_cq(program.context, 16);
  ASSERT_TRUE(program.source.produce());
  for (int i = 0; i < 20'000; ++i) {
    pvrdma_cqe completion{};
    EXPECT_FALSE(spun_on.poll(completion));
    rig.advance(microseconds(1));
  }
  EXPECT_EQ(rig.device().counters().late_events.value(), 0u);
  rig.advance(milliseconds(5));  // it stops spinning
  EXPECT_EQ(new_events(guest, program.cq), 1u);
}

TEST(DoorbellWatch, TwoQueuePairsThatPostBeforeALookAreBothServed) {
  TestRig rig;
  EndOptions options;
  options.context = &rig.guest(0).open_context();
  FakeEnd first(rig.guest(0), options);
  FakeEnd second(rig.guest(0), options);
  FakeEnd b(rig.guest(1));
  FakeEnd c(rig.guest(1));
  ASSERT_TRUE(connect(first, b));
  ASSERT_TRUE(connect(second, c));
  rig.settle();
  ASSERT_TRUE(first.write(1, 0, 64, b.buffer()));
  ASSERT_TRUE(second.write(2, 0, 64, c.buffer()));  // overwrites the first's word
  EXPECT_EQ(next_status(rig, first.cq()), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(next_status(rig, second.cq()), PVRDMA_WC_SUCCESS);
}

TEST(DoorbellWatch, AThousandQueuePairsThatPostOnceAreAllServed) {
  TestRig rig;
  constexpr std::uint64_t kPairs = 1000;
  EndOptions options;
  options.cq_entries = 2048;
  FakeEnd a(rig.guest(0), options);
  FakeEnd b(rig.guest(1), options);
  std::vector<FakeQp*> qps;
  for (std::uint64_t i = 0; i < kPairs; ++i) {
    FakeQp& from = rig.guest(0).create_qp(a.qp().spec());
    FakeQp& to = rig.guest(1).create_qp(b.qp().spec());
    ASSERT_TRUE(rig.guest(0).connect(from, rig.guest(1).gid(), to.number));
    ASSERT_TRUE(rig.guest(1).connect(to, rig.guest(0).gid(), from.number));
    qps.push_back(&from);
  }
  rig.advance(seconds(1));  // everything has gone quiet
  for (std::uint64_t i = 0; i < kPairs; ++i) {
    const pvrdma_sge sge = a.buffer().sge(0, 8);
    ASSERT_TRUE(qps[i]->post_send({.wr_id = i,
                                   .opcode = PVRDMA_WR_RDMA_WRITE,
                                   .remote_addr = b.buffer().va(),
                                   .rkey = b.buffer().rkey,
                                   .sges = {&sge, 1}}));
  }
  rig.settle();
  std::vector<bool> seen(kPairs);
  for (std::uint64_t i = 0; i < kPairs; ++i) {
    const auto completion = next_completion(rig, a.cq());
    ASSERT_TRUE(completion && completion->status == PVRDMA_WC_SUCCESS) << i;
    seen.at(completion->wr_id) = true;
  }
  EXPECT_EQ(std::ranges::count(seen, true), static_cast<std::ptrdiff_t>(kPairs));
}

TEST(DoorbellWatch, ReceivesPostedInErrAreFlushed) {
  TestRig rig(one_vm());
  Program program(rig.guest());
  for (std::uint64_t i = 1; i <= 200; ++i) {
    ASSERT_TRUE(program.source.produce());
    const auto completion = next_completion(rig, program.cq);
    ASSERT_TRUE(completion && completion->wr_id == i);
    if (i % 50 == 0) rig.advance(seconds(1));
  }
}

TEST(DoorbellWatch, WordsLeftByADestroyedQueuePairAreCountedAndDropped) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  EndOptions options;
  options.context = &guest.open_context();
  FakeEnd gone(guest, options);
  FakeEnd stays(guest, options);
  rig.settle();
  const std::uint64_t before = rig.device().counters().foreign_doorbells.value();
  const std::uint32_t handle = gone.qp().handle;
  gone.qp().ring(kRingSend | kRingReceive);
  guest.destroy(gone.qp());
  options.context->uar.ring(kDoorbellQp, handle | kRingSend);
  rig.settle();
  EXPECT_GE(rig.device().counters().foreign_doorbells.value(), before + 1);
  EXPECT_EQ(guest.query(stays.qp()).qp_state, +kStateReset);
}

TEST(DoorbellWatch, WordsAreZeroedWithTheirContext) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  FakeContext& first = guest.open_context();
  UarPage page = first.uar;
  page.word(kDoorbellQp) = 0xC0000005;
  page.word(kDoorbellCq) = 0xC0000005;
  guest.close(first);
  EXPECT_EQ(page.word(kDoorbellQp), 0u);
  EXPECT_EQ(page.word(kDoorbellCq), 0u);
  page.word(kDoorbellQp) = 0xC0000005;  // a process that kept the page mapped
  FakeContext& second = guest.open_context();
  ASSERT_EQ(second.uar.index(), page.index());
  EXPECT_EQ(page.word(kDoorbellQp), 0u);
  page.word(kDoorbellCq) = 0xC0000005;
  rig.machine().write_register(kRegCtl, kCtlReset);
  EXPECT_EQ(page.word(kDoorbellCq), 0u);
  guest.forget_everything();
}

TEST(DoorbellWatch, AHammeredPageFallsBackToTheSlowWatch) {
  TestRig rig;
  FakeGuest& hostile = rig.guest(0);
  FakeContext& page = hostile.open_context();
  FakeEnd a(rig.guest(1));
  FakeEnd b(rig.guest(1));
  ASSERT_TRUE(connect(a, b));
  const std::uint64_t before = rig.device(0).counters().mapped_doorbells.value();
  constexpr int kStores = 20'000;
  int late = 0;
  for (int i = 0; i < kStores; ++i) {
    page.uar.ring(kDoorbellQp, 0xC0FFEE);
    page.uar.ring(kDoorbellCq, 0xC0FFEE | kRingPoll);
    rig.advance(microseconds(1));
    if (i % 1000 != 0) continue;
    ASSERT_TRUE(a.write(1, 0, 64, b.buffer()));
    late += next_status(rig, a.cq()) != PVRDMA_WC_SUCCESS;
  }
  const std::uint64_t taken = rig.device(0).counters().mapped_doorbells.value() - before;
  EXPECT_LT(taken, kStores / 10) << "a look per interval, not one per store";
  EXPECT_EQ(late, 0);
}

TEST(DoorbellWatch, NothingIsWatchedWithoutAContext) {
  TestRig rig;
  rig.settle();
  EXPECT_EQ(rig.device(0).next_look(), kNever);
  EXPECT_EQ(rig.next_wake(), kNever) << "a booted VM without programs costs no wake-up";
  FakeContext& context = rig.guest(0).open_context();
  rig.settle();
  EXPECT_NE(rig.device(0).next_look(), kNever);
  EXPECT_EQ(rig.device(1).next_look(), kNever);
  rig.guest(0).close(context);
  rig.settle();
  EXPECT_EQ(rig.next_wake(), kNever);
}

TEST(DoorbellWatch, TrappedModeWatchesNothing) {
  RigOptions options = one_vm();
  options.config.doorbells = device::DoorbellMode::kTrapped;
  TestRig rig(options);
  Program program(rig.guest());
  EXPECT_FALSE(program.context.uar.mapped());
  ASSERT_TRUE(program.source.produce());
  rig.settle();
  EXPECT_EQ(rig.next_wake(), kNever);
  EXPECT_EQ(program.cq.unconsumed(), 1u);
  EXPECT_GE(rig.device().counters().trapped_doorbells.value(), 1u);
  EXPECT_EQ(rig.device().counters().mapped_doorbells.value(), 0u);
}

TEST(DoorbellWatch, AQuietPageIsLookedAtEverMoreRarely) {
  for (const Duration ceiling : {Duration(milliseconds(1)), Duration(milliseconds(4))}) {
    RigOptions options = one_vm();
    options.config.watch_ceiling = ceiling;
    TestRig rig(options);
    Program program(rig.guest());
    ASSERT_TRUE(program.source.produce());
    ASSERT_TRUE(next_completion(rig, program.cq).has_value());
    const std::uint64_t start = rig.turns();
    rig.advance(seconds(1));
    const std::uint64_t first = rig.turns() - start;
    rig.advance(seconds(1));
    const std::uint64_t second = rig.turns() - start - first;
    const auto looks = static_cast<std::uint64_t>(seconds(1) / ceiling);
    EXPECT_LE(second, looks + looks / 2) << "backed off to the ceiling";
    EXPECT_GE(second, looks / 2) << "and no further";
    EXPECT_LE(rig.next_wake() - rig.now(), ceiling);
  }
}

// A program that never waits for events: it looks on a timer of its own, for an
// hour. Its kernel queues an event for each late one, so there must be few.
TEST(DoorbellWatch, AProgramThatPollsOnATimerForAnHourGetsABoundedNumberOfEvents) {
  RigOptions options = one_vm();
  options.config.watch_ceiling = milliseconds(20);
  options.config.late_event_refill_per_second = 1;
  TestRig rig(options);
  Program program(rig.guest());
  constexpr int kTicks = 3600 * 1000 / 400;
  for (int i = 0; i < kTicks; ++i) {
    ASSERT_TRUE(program.source.produce());
    rig.advance(milliseconds(400));
    rig.guest().handle_interrupts();
    rig.guest().notifications().clear();
    pvrdma_cqe completion{};
    ASSERT_TRUE(program.cq.take(completion)) << i;
  }
  const std::uint64_t allowed = 1000 + 3600 + 1;
  EXPECT_LE(program.cq.events(), allowed);
  EXPECT_GE(program.cq.events(), 1000u) << "the budget is there to be used";
  EXPECT_EQ(rig.device().counters().late_events.value(), program.cq.events());
}

TEST(DoorbellWatch, AnArmThatIsSeenRefillsTheBudget) {
  RigOptions options = one_vm();
  options.config.late_event_budget = 3;
  options.config.late_event_refill_per_second = 0;
  TestRig rig(options);
  Program program(rig.guest());
  const auto late_rounds = [&](int rounds) {
    std::uint64_t events = 0;
    for (int i = 0; i < rounds; ++i) {
      EXPECT_TRUE(program.source.produce());
      rig.advance(milliseconds(5));
      events += new_events(rig.guest(), program.cq);
      pvrdma_cqe completion{};
      EXPECT_TRUE(program.cq.take(completion));
    }
    return events;
  };
  EXPECT_EQ(late_rounds(10), 3u);
  program.cq.arm();
  rig.settle();
  // The arm is spent on the first completion, then the budget is full again.
  EXPECT_EQ(late_rounds(10), 1u + 3u);
}

}  // namespace
}  // namespace paravane::fake
