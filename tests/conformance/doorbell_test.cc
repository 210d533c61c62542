// Conformance: doorbells and arming (device spec, C50-C56). Kernel queues ring by
// message and are exact; user queues on mapped pages follow design rules of their
// own (doorbell_watch_test.cc), and are exact in trapped mode.

#include "test_rig.h"

namespace paravane::fake {
namespace {

RigOptions rig_of(unsigned vms, device::DoorbellMode mode = device::DoorbellMode::kMapped) {
  RigOptions options;
  options.vms = vms;
  options.config.doorbells = mode;
  return options;
}

EndOptions in_kernel() {
  EndOptions options;
  options.kernel = true;
  return options;
}

std::uint64_t drain_events(FakeGuest& guest, FakeCq& cq) {
  const std::uint64_t before = cq.events();
  guest.handle_interrupts();
  return cq.events() - before;
}

TEST(Conformance, C50_DoorbellsForOthersOrForNothingAreIgnored) {
  for (const auto mode : {device::DoorbellMode::kMapped, device::DoorbellMode::kTrapped}) {
    TestRig rig(rig_of(1, mode));
    FakeGuest& guest = rig.guest();
    FakeEnd kernel_end(guest, in_kernel());
    FakeEnd process(guest);
    FakeContext& stranger = guest.open_context();
    FakeEnd gone(guest);
    const std::uint32_t dead_qp = gone.qp().handle;
    guest.destroy(gone.qp());
    rig.settle();
    for (const std::uint32_t handle :
         {0u, kernel_end.qp().handle, process.qp().handle, dead_qp, 0x00FFFFFFu}) {
      stranger.uar.ring(kDoorbellQp, handle | kRingSend | kRingReceive);
      rig.settle();
      gone.context().uar.ring(kDoorbellQp, handle | kRingSend | kRingReceive);
      rig.settle();
    }
    const std::uint64_t foreign = rig.device().counters().foreign_doorbells.value();
    EXPECT_GE(foreign, 8u);
    stranger.uar.ring(kDoorbellCq, kernel_end.cq().handle | kRingArm | kRingPoll);
    rig.settle();
    stranger.uar.ring(kDoorbellCq, 0x00FFFFFF | kRingArm);
    rig.settle();
    stranger.uar.ring(kDoorbellSrq, 3 | kRingArm);
    rig.settle();
    EXPECT_GT(rig.device().counters().foreign_doorbells.value(), foreign);
    EXPECT_EQ(guest.query(process.qp()).qp_state, +kStateReset);
  }
}

TEST(Conformance, C50_OtherOffsetsAndReadsOfADoorbellPageAreHarmless) {
  TestRig rig(rig_of(1, device::DoorbellMode::kTrapped));
  for (std::uint64_t offset = 0; offset < 2 * kPage; offset += 4) {
    if (offset % kPage < 12) continue;
    rig.machine().write_doorbell(offset, 0xFFFFFFFF);
    EXPECT_EQ(rig.machine().read_doorbell(offset), 0u);
  }
  EXPECT_EQ(rig.machine().read_doorbell(0), 0u);
}

TEST(Conformance, C51_OneWriteServesBothRingsAndManyRequests) {
  TestRig rig;
  FakeEnd a(rig.guest(0), in_kernel());
  FakeEnd b(rig.guest(1), in_kernel());
  ASSERT_TRUE(connect(a, b));
  const pvrdma_sge slot = b.buffer().sge(0, 256);
  const pvrdma_sge reply = b.buffer().sge(256, 64);
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(b.qp().queue_receive({.wr_id = i, .sges = {&slot, 1}}));
  }
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(b.qp().queue_send({.wr_id = 100 + i, .sges = {&reply, 1}}));
  }
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(a.receive(i, 0, 64));
  b.qp().ring(kRingSend | kRingReceive);
  for (std::uint64_t i = 0; i < 10; ++i) {
    const pvrdma_sge sge = a.buffer().sge(1024, 32);
    ASSERT_TRUE(a.qp().queue_send({.wr_id = 200 + i, .sges = {&sge, 1}}));
  }
  a.qp().ring(kRingSend);
  int sent = 0;
  int received = 0;
  while (const auto completion = next_completion(rig, b.cq())) {
    EXPECT_EQ(completion->status, +PVRDMA_WC_SUCCESS);
    completion->opcode == PVRDMA_WC_RECV ? ++received : ++sent;
  }
  EXPECT_EQ(sent, 3);
  EXPECT_EQ(received, 10);
}

TEST(Conformance, C52_OneArmOneNotification) {
  TestRig rig(rig_of(1));
  FakeGuest& guest = rig.guest();
  FakePd& pd = guest.create_pd(guest.kernel());
  FakeCq& cq = guest.create_cq(guest.kernel(), 64);
  FlushSource source(guest, pd, cq);
  cq.arm();
  ASSERT_TRUE(source.produce());
  rig.settle();
  EXPECT_EQ(rig.machine().take_interrupt(kVectorCq), 1u);
  EXPECT_EQ(guest.take_notification(), cq.handle);
  ASSERT_TRUE(source.produce(5));
  rig.advance(std::chrono::seconds(2));
  EXPECT_EQ(rig.machine().take_interrupt(kVectorCq), 0u);
  EXPECT_FALSE(guest.take_notification().has_value());
  EXPECT_EQ(cq.unconsumed(), 6u);
}

// A kernel pair whose receiver looks at its events.
struct SolicitedPair {
  SolicitedPair() : a(rig.guest(0), in_kernel()), b(rig.guest(1), in_kernel()) {
    EXPECT_TRUE(connect(a, b));
    for (std::uint64_t i = 0; i < 16; ++i) EXPECT_TRUE(b.receive(i, 0, 256));
  }
  std::uint64_t events_after_send(std::uint32_t flags) {
    EXPECT_TRUE(a.send(1, 0, 16, flags | kSendSignaled));
    rig.settle();
    return drain_events(rig.guest(1), b.cq());
  }
  TestRig rig;
  FakeEnd a;
  FakeEnd b;
};

TEST(Conformance, C53_SolicitedArmFiresForSolicitedReceives) {
  SolicitedPair pair;
  pair.b.cq().arm(true);
  EXPECT_EQ(pair.events_after_send(0), 0u);
  EXPECT_EQ(pair.events_after_send(kSendSolicited), 1u);
  EXPECT_EQ(pair.events_after_send(kSendSolicited), 0u) << "not armed any more";
}

TEST(Conformance, C53_ArmingUpgradesAndNeverDowngrades) {
  SolicitedPair pair;
  pair.b.cq().arm(true);
  pair.b.cq().arm(false);
  EXPECT_EQ(pair.events_after_send(0), 1u) << "any after solicited";
  pair.b.cq().arm(false);
  pair.b.cq().arm(true);
  EXPECT_EQ(pair.events_after_send(0), 1u) << "solicited after any";
  pair.b.context().uar.ring(kDoorbellCq, pair.b.cq().handle | kRingArm | kRingArmSolicited);
  EXPECT_EQ(pair.events_after_send(0), 1u) << "both at once";
}

TEST(Conformance, C53_SolicitedArmFiresForErrors) {
  SolicitedPair pair;
  pair.b.cq().arm(true);
  ASSERT_TRUE(pair.rig.guest(1).to_state(pair.b.qp(), kStateErr));
  pair.rig.settle();
  EXPECT_EQ(drain_events(pair.rig.guest(1), pair.b.cq()), 1u);
}

TEST(Conformance, C54_AQueueThatWasNeverArmedIsNeverNotified) {
  for (const auto mode : {device::DoorbellMode::kMapped, device::DoorbellMode::kTrapped}) {
    TestRig rig(rig_of(1, mode));
    FakeGuest& guest = rig.guest();
    // In trapped mode the rule holds for processes as well.
    FakeContext& context =
        mode == device::DoorbellMode::kTrapped ? guest.open_context() : guest.kernel();
    FakePd& pd = guest.create_pd(context);
    FakeCq& cq = guest.create_cq(context, 64);
    FlushSource source(guest, pd, cq);
    ASSERT_TRUE(source.produce(16));
    rig.advance(std::chrono::seconds(5));
    EXPECT_EQ(cq.unconsumed(), 16u);
    EXPECT_EQ(rig.machine().take_interrupt(kVectorCq), 0u);
    EXPECT_FALSE(guest.take_notification().has_value());
  }
}

// A program that sleeps until its event comes: it posts, arms, checks once, and
// only then waits. True: it got through all rounds.
bool event_program(DeviceRig& rig, FakeGuest& guest, FakeCq& cq, FlushSource& source, int rounds) {
  std::uint64_t expected = 1;
  for (int i = 0; i < rounds; ++i) {
    if (i % 3 != 0) cq.arm();  // before the work, or after it
    if (!source.produce()) return false;
    if (i % 3 == 0) cq.arm();
    // Most arms are overwritten by the POLL below before the worker looks.
    if (i % 5 == 0) rig.advance(std::chrono::microseconds(5));
    pvrdma_cqe completion{};
    bool found = cq.poll(completion);
    for (int wait = 0; !found && wait < 20; ++wait) {
      rig.advance(std::chrono::milliseconds(1));
      const std::uint64_t before = cq.events();
      guest.handle_interrupts();
      if (cq.events() != before) found = cq.poll(completion);
    }
    if (!found || completion.wr_id != expected++) return false;
  }
  return true;
}

TEST(Conformance, C55_ACompletionBesideAnArmIsSeenOrNotified) {
  for (const auto mode : {device::DoorbellMode::kMapped, device::DoorbellMode::kTrapped}) {
    for (const bool kernel : {true, false}) {
      TestRig rig(rig_of(1, mode));
      FakeGuest& guest = rig.guest();
      FakeContext& context = kernel ? guest.kernel() : guest.open_context();
      FakePd& pd = guest.create_pd(context);
      FakeCq& cq = guest.create_cq(context, 64);
      FlushSource source(guest, pd, cq);
      EXPECT_TRUE(event_program(rig, guest, cq, source, 3000))
          << "kernel " << kernel << " mode " << static_cast<int>(mode);
    }
  }
}

TEST(Conformance, C56_AfterAPollDoorbellNothingIsHeldBack) {
  for (const auto mode : {device::DoorbellMode::kMapped, device::DoorbellMode::kTrapped}) {
    TestRig rig(rig_of(2, mode));
    FakeEnd a(rig.guest(0));
    FakeEnd b(rig.guest(1));
    ASSERT_TRUE(connect(a, b));
    for (std::uint64_t i = 0; i < 50; ++i) {
      ASSERT_TRUE(b.receive(i, 0, 64));
      rig.settle();
      *b.buffer().at(0) = std::byte{0};
      *a.buffer().at(0) = std::byte{1};
      ASSERT_TRUE(a.send(i, 0, 64));
      while (*b.buffer().at(0) == std::byte{0}) rig.advance(std::chrono::microseconds(1));
      // The data is there, so is its completion, one doorbell later at most.
      pvrdma_cqe completion{};
      EXPECT_TRUE(b.cq().poll(completion)) << i;
      ASSERT_EQ(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS);
    }
  }
}

}  // namespace
}  // namespace paravane::fake
