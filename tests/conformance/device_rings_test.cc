// Conformance: the notification ring and the event ring, which are not powers of
// two (device spec, C40-C43, C47, C48).

#include <thread>

#include "test_rig.h"

namespace paravane::fake {
namespace {

RigOptions one_vm() {
  RigOptions options;
  options.vms = 1;
  return options;
}

// A kernel queue, whose arms are exact, with something that completes into it.
struct Notifier {
  explicit Notifier(FakeGuest& guest)
      : pd(guest.create_pd(guest.kernel())),
        cq(guest.create_cq(guest.kernel(), 64)),
        source(guest, pd, cq) {}
  // One notification for this queue; its completion is consumed.
  void fire(DeviceRig& rig) {
    cq.arm();
    ASSERT_TRUE(source.produce());
    ASSERT_EQ(next_status(rig, cq), PVRDMA_WC_WR_FLUSH_ERR);
  }
  FakePd& pd;
  FakeCq& cq;
  FlushSource source;
};

TEST(Conformance, C40_CqNotificationRingDeliversFiveThousandInOrder) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  Notifier queues[3] = {Notifier(guest), Notifier(guest), Notifier(guest)};
  for (int i = 0; i < 5000; ++i) {
    queues[i % 3].fire(rig);
    const auto info = guest.take_notification();
    ASSERT_TRUE(info.has_value()) << "notification " << i;
    ASSERT_EQ(*info, queues[i % 3].cq.handle) << "notification " << i;
    ASSERT_FALSE(guest.take_notification().has_value());
    // C43: what the device stores is an index the driver calls valid.
    ASSERT_TRUE(guest.notification_ring().valid(guest.notification_ring().tail()));
  }
}

TEST(Conformance, C41_CqNotificationRingHolds1024AndLosesNothing) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  Notifier queues[2] = {Notifier(guest), Notifier(guest)};
  // A queue that waits for its place cannot fire again, so 1,024 events of one
  // queue fill the ring and others come behind.
  for (int i = 0; i < 1024; ++i) queues[i % 2].fire(rig);
  std::vector<std::unique_ptr<Notifier>> late;
  for (int i = 0; i < 300; ++i) late.push_back(std::make_unique<Notifier>(guest));
  for (auto& queue : late) queue->fire(rig);
  rig.advance(std::chrono::milliseconds(20));
  DriverRing ring = guest.notification_ring();
  EXPECT_EQ((ring.tail() - ring.head()) & 0x7FF, 1024u);
  for (int i = 0; i < 1024; ++i) {
    ASSERT_EQ(guest.take_notification().value_or(~0u), queues[i % 2].cq.handle) << i;
  }
  rig.advance(std::chrono::milliseconds(20));
  for (auto& queue : late) {
    ASSERT_EQ(guest.take_notification().value_or(~0u), queue->cq.handle);
  }
  EXPECT_FALSE(guest.take_notification().has_value());
}

// An access error at the responder: one event of type 3 with its handle.
struct EventMaker {
  explicit EventMaker(TestRig& the_rig) : rig(the_rig), a(the_rig.guest(0)), b(the_rig.guest(1)) {}
  void fire() {
    ASSERT_TRUE(connect(a, b));
    ASSERT_TRUE(a.post({.wr_id = 1,
                        .opcode = PVRDMA_WR_RDMA_WRITE,
                        .remote_addr = b.buffer().va(),
                        .rkey = b.buffer().rkey ^ 0xFF00,
                        .sges = {}},
                       0, 8));
    ASSERT_EQ(next_status(rig, a.cq()), PVRDMA_WC_REM_ACCESS_ERR);
    ASSERT_TRUE(rig.guest(0).to_reset(a.qp()));
    ASSERT_TRUE(rig.guest(1).to_reset(b.qp()));
  }
  TestRig& rig;
  FakeEnd a;
  FakeEnd b;
};

TEST(Conformance, C42_EventRingHolds512AndLosesNothing) {
  TestRig rig;
  EventMaker maker(rig);
  FakeGuest& guest = rig.guest(1);
  constexpr int kEvents = 700;
  for (int i = 0; i < kEvents; ++i) maker.fire();
  rig.advance(std::chrono::milliseconds(20));
  DriverRing ring = guest.async_ring();
  EXPECT_EQ((ring.tail() - ring.head()) & 0x3FF, 512u);
  int taken = 0;
  for (int rounds = 0; rounds < 10; ++rounds) {
    while (const auto event = guest.take_async_event()) {
      EXPECT_EQ(*event, (AsyncEvent{kEventQpAccessError, maker.b.qp().handle}));
      ++taken;
    }
    rig.advance(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(taken, kEvents);
}

TEST(Conformance, C42_EventsOneByOnePassEveryIndex) {
  TestRig rig;
  EventMaker maker(rig);
  FakeGuest& guest = rig.guest(1);
  for (int i = 0; i < 1200; ++i) {
    maker.fire();
    ASSERT_TRUE(guest.async_ring().valid(guest.async_ring().tail()));  // C43
    ASSERT_EQ(guest.take_async_event(), (AsyncEvent{kEventQpAccessError, maker.b.qp().handle}))
        << i;
    ASSERT_FALSE(guest.take_async_event().has_value());
  }
}

TEST(Conformance, C43_CompletionRingsWithOtherSizesStoreValidIndicesOnly) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  FakePd& pd = guest.create_pd(guest.kernel());
  for (const std::uint32_t entries : {1u, 2u, 8u}) {
    FakeCq& cq = guest.create_cq(guest.kernel(), entries);
    FlushSource source(guest, pd, cq, 1);
    for (std::uint32_t i = 0; i < 5 * entries; ++i) {
      ASSERT_TRUE(source.produce());
      ASSERT_EQ(next_status(rig, cq), PVRDMA_WC_WR_FLUSH_ERR);
      ASSERT_TRUE(cq.ring().valid(cq.ring().tail()));
      ASSERT_TRUE(source.qp().receive_ring().valid(source.qp().receive_ring().head()));
    }
  }
}

TEST(Conformance, C47_EventsCarryTheHandleNotTheNumber) {
  TestRig rig;
  FakeGuest& guest = rig.guest(1);
  FakePd& pd = guest.create_pd(guest.kernel());
  FakeCq& spare = guest.create_cq(guest.kernel(), 4);
  guest.create_qp({.pd = &pd, .send_cq = &spare, .receive_cq = &spare});
  EventMaker maker(rig);
  maker.fire();
  guest.handle_interrupts();
  ASSERT_EQ(guest.async_events().size(), 1u);
  EXPECT_EQ(guest.async_events()[0].info, maker.b.qp().handle);

  // A completion queue that overflows names itself; its QP is named fatal.
  guest.async_events().clear();
  FakeCq& small = guest.create_cq(guest.kernel(), 2);
  FlushSource source(guest, pd, small, 16);
  ASSERT_TRUE(source.produce(8));
  rig.settle();
  guest.handle_interrupts();
  bool cq_error = false;
  for (const AsyncEvent& event : guest.async_events()) {
    if (event.type == kEventCqError) {
      EXPECT_EQ(event.info, small.handle);
      cq_error = true;
    } else {
      EXPECT_EQ(event, (AsyncEvent{kEventQpFatal, source.qp().handle}));
    }
  }
  EXPECT_TRUE(cq_error);
}

TEST(Conformance, C48_TheInterruptFollowsTheNotification) {
  TestRig rig;
  FakeGuest& guest = rig.guest(1);
  Notifier queue(guest);
  EventMaker maker(rig);
  guest.machine().take_interrupt(kVectorAsync);
  std::atomic<int> wanted = 0;
  std::atomic<int> seen = 0;
  std::atomic<bool> missing = false;
  std::atomic<bool> stop = false;
  // The guest's other CPU: an interrupt must find its ring filled.
  std::thread handler([&] {
    while (!stop.load()) {
      if (guest.machine().take_interrupt(kVectorCq) != 0) {
        if (!guest.take_notification()) missing = true;
        seen.fetch_add(1);
      }
      if (guest.machine().take_interrupt(kVectorAsync) != 0) {
        if (!guest.take_async_event()) missing = true;
        seen.fetch_add(1);
      }
    }
  });
  for (int i = 0; i < 500 && !missing.load(); ++i) {
    i % 2 == 0 ? queue.fire(rig) : maker.fire();
    wanted.fetch_add(1);
    while (seen.load() < wanted.load() && !missing.load()) std::this_thread::yield();
  }
  stop = true;
  handler.join();
  EXPECT_FALSE(missing.load());
  EXPECT_EQ(seen.load(), 500);
}

}  // namespace
}  // namespace paravane::fake
