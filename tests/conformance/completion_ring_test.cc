// Conformance: completion rings and broken rings (device spec, C44-C46, C49).

#include <algorithm>
#include <deque>
#include <set>
#include <thread>
#include <vector>

#include "test_rig.h"

namespace paravane::fake {
namespace {

RigOptions one_vm() {
  RigOptions options;
  options.vms = 1;
  return options;
}

TEST(Conformance, C44_CompletionRingsWrapThroughAllTheirIndices) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  FakePd& pd = guest.create_pd(guest.kernel());
  for (const std::uint32_t entries : {1u, 2u, 64u}) {
    FakeCq& cq = guest.create_cq(guest.kernel(), entries);
    FlushSource source(guest, pd, cq, entries);
    std::set<std::uint32_t> tails;
    std::uint64_t expected = 1;
    for (std::uint32_t i = 0; i < 4 * entries; ++i) {
      const std::uint32_t burst = 1 + i % entries;
      ASSERT_TRUE(source.produce(burst));
      rig.settle();
      ASSERT_EQ(cq.unconsumed(), burst);
      for (std::uint32_t k = 0; k < burst; ++k) {
        ASSERT_EQ(next_completion(rig, cq)->wr_id, expected++);
      }
      tails.insert(cq.ring().tail());
    }
    EXPECT_GE(tails.size(), std::min(2 * entries, 32u));
    EXPECT_LT(*tails.rbegin(), 2 * entries);
  }
}

TEST(Conformance, C44_NeverMoreThanNUnconsumed) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  FakePd& pd = guest.create_pd(guest.kernel());
  for (const std::uint32_t entries : {1u, 4u}) {
    FakeCq& cq = guest.create_cq(guest.kernel(), entries);
    FlushSource source(guest, pd, cq, 64);
    ASSERT_TRUE(source.produce(entries));
    rig.settle();
    const pvrdma_cqe first = cq.element(0);
    ASSERT_TRUE(source.produce(20));
    rig.settle();
    EXPECT_EQ(cq.unconsumed(), entries);
    EXPECT_EQ(std::memcmp(&first, &cq.element(0), sizeof first), 0) << "overwritten";
  }
}

TEST(Conformance, C44_AFullQueueDiesOnlyWhenNothingIsTakenForTwoSeconds) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  FakePd& pd = guest.create_pd(guest.kernel());
  FakeCq& cq = guest.create_cq(guest.kernel(), 2);
  FlushSource source(guest, pd, cq, 64);
  ASSERT_TRUE(source.produce(4));
  pvrdma_cqe completion{};
  for (std::uint64_t expected = 1; expected <= 2; ++expected) {
    rig.advance(std::chrono::milliseconds(1500));
    ASSERT_TRUE(cq.take(completion));
    EXPECT_EQ(completion.wr_id, expected);
  }
  rig.advance(std::chrono::milliseconds(1500));
  EXPECT_EQ(cq.unconsumed(), 2u) << "what was held back came after all";
  EXPECT_EQ(rig.device().counters().cq_overruns.value(), 0u);
  ASSERT_TRUE(source.produce(1));
  rig.advance(std::chrono::milliseconds(2500));
  EXPECT_EQ(rig.device().counters().cq_overruns.value(), 1u);
}

// What a guest makes us keep is bounded, and so is what we do about it in a turn.
TEST(Conformance, C44_ManyFullQueuesAreServedAFewAtATime) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  FakePd& pd = guest.create_pd(guest.kernel());
  std::vector<FakeCq*> full;
  std::deque<FlushSource> sources;
  for (int i = 0; i < 500; ++i) {
    full.push_back(&guest.create_cq(guest.kernel(), 1));
    ASSERT_TRUE(sources.emplace_back(guest, pd, *full.back(), 4).produce(2));
  }
  rig.settle();
  pvrdma_cqe completion{};
  for (FakeCq* cq : full) ASSERT_TRUE(cq->take(completion));
  const auto served = [&full] {
    return std::ranges::count_if(full, [](const FakeCq* cq) { return cq->unconsumed() == 1; });
  };
  verbs::Budget budget{.bytes = 1 << 20, .operations = 64};
  rig.device().poll(budget);
  EXPECT_GE(served(), 1);
  EXPECT_LE(served(), 128);
  rig.advance(std::chrono::milliseconds(50));
  EXPECT_EQ(served(), 500);
  EXPECT_EQ(rig.device().counters().cq_overruns.value(), 0u);
}

TEST(Conformance, C44_WhatIsHeldBackIsBoundedForADevice) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  FakePd& pd = guest.create_pd(guest.kernel());
  std::deque<FlushSource> sources;
  std::vector<FakeCq*> queues;
  for (int i = 0; i < 3; ++i) {
    queues.push_back(&guest.create_cq(guest.kernel(), 32'768));
    sources.emplace_back(guest, pd, *queues.back(), 4096);
  }
  const std::uint64_t overruns = rig.device().counters().cq_overruns.value();
  for (int burst = 0; burst < 16; ++burst) {
    for (FlushSource& source : sources) ASSERT_TRUE(source.produce(4096));
    rig.settle();
  }
  // Two could keep what they hold; the third found no room.
  EXPECT_GE(rig.device().counters().cq_overruns.value(), overruns + 1);
}

TEST(Conformance, C45_AReaderOnAnotherCoreSeesWholeCompletions) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  FakeContext& process = guest.open_context();
  FakePd& pd = guest.create_pd(process);
  FakeCq& cq = guest.create_cq(process, 8);
  FlushSource source(guest, pd, cq, 8);
  constexpr std::uint64_t kRounds = 20'000;
  std::atomic<bool> done = false;
  std::uint64_t good = 0;
  std::thread program([&] {
    for (std::uint64_t next = 1; next <= kRounds && source.produce(); ++next) {
      pvrdma_cqe completion{};
      while (!cq.take(completion)) {
      }
      good += completion.wr_id == next && completion.status == PVRDMA_WC_WR_FLUSH_ERR &&
              completion.opcode == PVRDMA_WC_RECV;
      // A stale element would show when the ring comes round again.
      std::memset(static_cast<void*>(&cq.element((next - 1) % 8)), 0x5A, sizeof completion);
    }
    done = true;
  });
  while (!done.load()) rig.advance(std::chrono::microseconds(20));
  program.join();
  EXPECT_EQ(good, kRounds);
}

TEST(Conformance, C46_TheGuestMayMoveAndSkipCompletions) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  FakePd& pd = guest.create_pd(guest.kernel());
  FakeCq& cq = guest.create_cq(guest.kernel(), 16);
  FlushSource leaving(guest, pd, cq);
  FlushSource staying(guest, pd, cq);
  std::uint64_t expected = 1;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(leaving.produce());
      rig.settle();
      ASSERT_TRUE(staying.produce());
      rig.settle();
    }
    ASSERT_EQ(cq.unconsumed(), 10u);
    cq.drop_completions_of(leaving.qp().handle);  // as after a reset of that QP
    ASSERT_EQ(cq.unconsumed(), 5u);
    for (int i = 0; i < 5; ++i) {
      const auto completion = next_completion(rig, cq);
      ASSERT_TRUE(completion.has_value());
      ASSERT_EQ(completion->wr_id, expected++);
      ASSERT_EQ(completion->qp, staying.qp().handle);
    }
  }
}

TEST(Conformance, C49_AnImpossibleSendIndexStopsThatQueuePairOnly) {
  TestRig rig;
  EndOptions options;
  options.context = &rig.guest(0).open_context();
  FakeEnd broken(rig.guest(0), options);
  FakeEnd sound(rig.guest(0), options);
  FakeEnd b(rig.guest(1));
  FakeEnd c(rig.guest(1));
  ASSERT_TRUE(connect(broken, b));
  ASSERT_TRUE(connect(sound, c));
  ASSERT_TRUE(b.receive(1));
  ASSERT_TRUE(c.receive(1));
  for (const std::uint32_t index : {0x80000000u, 2 * 16u, 0xFFFFFFFFu, 17u}) {
    broken.qp().send_ring().set_tail(index);
    broken.qp().ring(kRingSend);
    rig.settle();
  }
  EXPECT_EQ(b.cq().unconsumed(), 0u);
  EXPECT_GE(rig.device(0).counters().broken_rings.value(), 1u);
  ASSERT_TRUE(sound.send(2, 0, 64));
  EXPECT_EQ(next_status(rig, sound.cq()), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(next_status(rig, c.cq()), PVRDMA_WC_SUCCESS);
}

TEST(Conformance, C49_AnImpossibleReceiveIndexStopsThatQueuePairOnly) {
  TestRig rig;
  FakeEnd a(rig.guest(0));
  FakeEnd b(rig.guest(1));
  FakeEnd other_a(rig.guest(0));
  FakeEnd other_b(rig.guest(1));
  ASSERT_TRUE(connect(a, b));
  ASSERT_TRUE(connect(other_a, other_b));
  b.qp().receive_ring().set_tail(0x4000'0000);
  b.qp().ring(kRingReceive);
  ASSERT_TRUE(a.send(1, 0, 64));
  rig.advance(std::chrono::milliseconds(5));
  EXPECT_EQ(b.cq().unconsumed(), 0u);
  EXPECT_GE(rig.device(1).counters().broken_rings.value(), 1u);
  ASSERT_TRUE(other_b.receive(1));
  ASSERT_TRUE(other_a.send(2, 0, 64));
  EXPECT_EQ(next_status(rig, other_b.cq()), PVRDMA_WC_SUCCESS);
}

TEST(Conformance, C49_AnImpossibleCompletionIndexStopsThatQueueOnly) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  FakePd& pd = guest.create_pd(guest.kernel());
  FakeCq& broken = guest.create_cq(guest.kernel(), 4);
  FakeCq& sound = guest.create_cq(guest.kernel(), 4);
  FlushSource into_broken(guest, pd, broken);
  FlushSource into_sound(guest, pd, sound);
  broken.ring().set_head(0xDEADBEEF);
  ASSERT_TRUE(into_broken.produce(8));
  rig.settle();
  EXPECT_LE(broken.ring().tail(), 7u) << "no invalid index is ever stored";
  ASSERT_TRUE(into_sound.produce(2));
  EXPECT_EQ(next_status(rig, sound), PVRDMA_WC_WR_FLUSH_ERR);
  EXPECT_EQ(next_status(rig, sound), PVRDMA_WC_WR_FLUSH_ERR);
}

// The VMM may show memory again with fewer rights, as it may take it away.
TEST(Conformance, C44_CompletionsWaitWhileTheirRingMayOnlyBeRead) {
  for (const std::size_t page : {std::size_t{0}, std::size_t{1}}) {  // indices; completions
    TestRig rig(one_vm());
    FakeGuest& guest = rig.guest();
    FakePd& pd = guest.create_pd(guest.kernel());
    FakeCq& cq = guest.create_cq(guest.kernel(), 4);
    FlushSource source(guest, pd, cq);
    const std::uint64_t address = cq.pages().pages[page];
    rig.machine().unmap_part(address, kPage);
    ASSERT_TRUE(rig.memory()
                    .map(guest.ram().duplicate_fd(), address - GuestRam::kBase, GuestAddr{address},
                         kPage, Rights::kRead)
                    .has_value());
    ASSERT_TRUE(source.produce(2));
    rig.settle();
    EXPECT_EQ(cq.unconsumed(), 0u);
    EXPECT_EQ(cq.element(0).qp, 0u) << "written to memory that may only be read";
    rig.machine().unmap_part(address, kPage);
    ASSERT_TRUE(rig.machine().map_part(address, kPage).has_value());
    EXPECT_EQ(next_status(rig, cq), PVRDMA_WC_WR_FLUSH_ERR);
    EXPECT_EQ(next_status(rig, cq), PVRDMA_WC_WR_FLUSH_ERR);
  }
}

TEST(Conformance, C49_AnImpossibleNotificationIndexStopsNotificationsOnly) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  FakePd& pd = guest.create_pd(guest.kernel());
  FakeCq& cq = guest.create_cq(guest.kernel(), 16);
  FlushSource source(guest, pd, cq);
  guest.notification_ring().set_head(0xFFFF'FFFF);
  for (int i = 0; i < 20; ++i) {
    cq.arm();
    ASSERT_TRUE(source.produce());
    ASSERT_EQ(next_status(rig, cq), PVRDMA_WC_WR_FLUSH_ERR) << i;
  }
  EXPECT_TRUE(guest.notification_ring().valid(guest.notification_ring().tail()));
  EXPECT_NE(guest.open_context().handle, 0u) << "commands go on";
}

}  // namespace
}  // namespace paravane::fake
