// Conformance: guests that reset, crash, start anew or never finish their probe
// (device spec, C80), seen from the device.

#include <unistd.h>

#include <algorithm>
#include <span>

#include "abi/registers.h"
#include "base/wire_int.h"
#include "guestmem/memory_failure.h"
#include "test_rig.h"
#include "testing/test_memory.h"
#include "verbs/adapter.h"
#include "verbs/queue_pair.h"

namespace paravane::fake {
namespace {

using vfio_user::ResetCause;

void expect_traffic(TestRig& rig) {
  FakeEnd a(rig.guest(0));
  FakeEnd b(rig.guest(1));
  ASSERT_TRUE(connect(a, b));
  ASSERT_TRUE(b.receive(1));
  ASSERT_TRUE(a.send(2, 0, 64));
  EXPECT_EQ(next_status(rig, b.cq()), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS);
}

// VM 1 in the middle of a conversation with VM 0.
void start_traffic(TestRig& rig) {
  EndOptions options;
  options.buffer_bytes = 1 << 20;
  FakeEnd a(rig.guest(0), options);
  FakeEnd b(rig.guest(1), options);
  ASSERT_TRUE(connect(a, b));
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(a.write(i, 0, 1 << 20, b.buffer()));
    ASSERT_TRUE(b.write(i, 0, 1 << 20, a.buffer()));
    ASSERT_TRUE(b.receive(i));
  }
  rig.step();
  rig.step();
}

// So many queue pairs that their burial takes several turns; the end's own goes last.
void make_burial_long(FakeEnd& end) {
  for (int i = 0; i < 1000; ++i) end.guest().create_qp(end.qp().spec());
}

TEST(Conformance, C80_MachineAndFunctionResetStopEverything) {
  for (const ResetCause cause : {ResetCause::kMachineReset, ResetCause::kFunctionReset}) {
    TestRig rig;
    start_traffic(rig);
    rig.machine(1).reset(cause);
    EXPECT_TRUE(no_objects(rig.device(1).objects()));
    rig.guest(1).forget_everything();
    rig.advance(std::chrono::seconds(1));
    EXPECT_TRUE(rig.machine(1).ram().intact_after_free());
    for (std::uint16_t vector = 0; vector < 3; ++vector) rig.machine(1).take_interrupt(vector);
    ASSERT_TRUE(rig.boot(1));
    expect_traffic(rig);
  }
}

TEST(Conformance, C80_AGuestIsListenedToAfterItsBurial) {
  TestRig rig;
  FakeEnd end(rig.guest(0));
  make_burial_long(end);
  rig.machine(0).write_register(kRegCtl, kCtlReset);
  ASSERT_GT(rig.device(0).objects().queue_pairs, 0u) << "too many for one turn";
  for (int turns = 0; rig.device(0).has_work(); ++turns) {
    ASSERT_LT(turns, 1000);
    EXPECT_FALSE(rig.device(0).takes_requests());
    rig.step();
  }
  EXPECT_TRUE(rig.device(0).takes_requests());
  EXPECT_TRUE(no_objects(rig.device(0).objects()));
  rig.guest(0).forget_everything();
  for (std::uint16_t vector = 0; vector < 3; ++vector) rig.machine(0).take_interrupt(vector);
  ASSERT_TRUE(rig.boot(0));
  expect_traffic(rig);
}

// Another process of the guest may still have the page and write to it, and completions
// that were never taken would have it looked at for a late event.
TEST(Conformance, C80_TheQueuesOfAProcessThatIsBuriedAreLookedAtNoMore) {
  RigOptions options;
  options.config.burial_effort = 1;  // an object a turn
  TestRig rig(options);
  FakeGuest& guest = rig.guest(0);
  FakeContext& process = guest.open_context();
  FakeEnd end(guest, {.context = &process});
  FlushSource source(guest, end.pd(), end.cq());
  for (int i = 0; i < 20; ++i) guest.create_qp(end.qp().spec());
  ASSERT_TRUE(source.produce(8));
  rig.run_until_idle();
  ASSERT_EQ(end.cq().unconsumed(), 8u);

  DestroyUc request{};
  request.header.cmd = DestroyUc::kOpcode;
  request.handle = process.handle;
  std::ranges::copy(std::as_bytes(std::span(&request, 1)), guest.command_slot());
  rig.machine(0).post_register(kRegRequest, 0);
  int turns = 0;
  for (; rig.device(0).has_work() && turns < 1000; ++turns) {
    process.uar.ring(kDoorbellQp, end.qp().handle | kRingSend);
    process.uar.ring(kDoorbellCq, end.cq().handle | kRingPoll);
    rig.turn(std::chrono::microseconds(100));
  }
  EXPECT_GT(turns, 20);
  EXPECT_EQ(rig.device(0).objects().contexts, 0u);
  guest.open_context();  // where pages are watched, lines of them are walked
  rig.settle();
}

// A VMM that says several things at once is not a guest that waits for its device.
TEST(Conformance, C80_ADeviceThatBuriesIsNotActivatedAndTakesNoCommand) {
  RigOptions options;
  options.config.burial_effort = 1;
  TestRig rig(options);
  FakeEnd end(rig.guest(0));
  for (int i = 0; i < 20; ++i) rig.guest(0).create_qp(end.qp().spec());
  const std::uint64_t region = rig.guest(0).shared_address();
  const auto write = [&](std::uint64_t offset, std::uint32_t value) {
    const Le32 word(value);
    rig.device(0).write_bar(abi::kRegisterBar, offset, std::as_bytes(std::span(&word, 1)), true,
                            {});
  };
  write(kRegCtl, kCtlReset);
  write(kRegDsrLow, static_cast<std::uint32_t>(region));
  write(kRegDsrHigh, static_cast<std::uint32_t>(region >> 32));
  write(kRegCtl, kCtlActivate);
  EXPECT_FALSE(rig.device(0).active());
  write(kRegRequest, 0);
  rig.run_until_idle();
  EXPECT_TRUE(no_objects(rig.device(0).objects()));
  rig.guest(0).forget_everything();
  for (std::uint16_t vector = 0; vector < 3; ++vector) rig.machine(0).take_interrupt(vector);
  ASSERT_TRUE(rig.boot(0));
  expect_traffic(rig);
}

TEST(Conformance, C80_AProcessIsNotDestroyedWhileAnotherIsBuried) {
  RigOptions options;
  options.config.burial_effort = 1;
  TestRig rig(options);
  FakeGuest& guest = rig.guest(0);
  FakeEnd a(guest);
  FakeEnd b(guest);
  for (int i = 0; i < 20; ++i) guest.create_qp(a.qp().spec());
  for (FakeEnd* end : {&a, &b}) {
    DestroyUc request{};
    request.header.cmd = DestroyUc::kOpcode;
    request.handle = end->context().handle;
    std::ranges::copy(std::as_bytes(std::span(&request, 1)), guest.command_slot());
    const Le32 word;
    rig.device(0).write_bar(abi::kRegisterBar, kRegRequest, std::as_bytes(std::span(&word, 1)),
                            true, {});
  }
  rig.run_until_idle();
  EXPECT_EQ(rig.device(0).objects().contexts, 1u) << "the second was asked for too early";
}

TEST(Conformance, C80_PeersFindNothingOfALifeThatIsBuried) {
  TestRig rig;
  FakeEnd a(rig.guest(0));
  FakeEnd b(rig.guest(1));
  ASSERT_TRUE(connect(a, b));
  make_burial_long(b);
  verbs::Adapter& adapter = rig.device(1).adapter();
  const auto judge = [&] {
    return adapter.regions().check(verbs::PdNumber{b.pd().handle}, b.buffer().rkey, b.buffer().va(),
                                   64, verbs::kAccessRemoteWrite);
  };
  ASSERT_NE(adapter.find_qp(b.qp().number), nullptr);
  ASSERT_EQ(judge(), verbs::AccessVerdict::kOk);
  rig.run_until_idle();
  a.buffer().fill(std::byte{0x11});
  b.buffer().fill(std::byte{0x77});
  ASSERT_TRUE(a.write(1, 0, 64, b.buffer()));  // no turn has seen it yet
  rig.machine(1).write_register(kRegCtl, kCtlReset);
  ASSERT_GT(rig.device(1).objects().queue_pairs, 0u) << "too many for one turn";
  for (int turns = 0; rig.device(1).has_work(); ++turns) {
    ASSERT_LT(turns, 1000);
    EXPECT_EQ(adapter.find_qp(b.qp().number), nullptr);
    EXPECT_EQ(judge(), verbs::AccessVerdict::kBadKey);
    rig.turn(std::chrono::microseconds(100));
  }
  rig.settle();
  for (std::uint64_t i = 0; i < 64; ++i) EXPECT_EQ(*b.buffer().at(i), std::byte{0x77}) << i;
}

// What was asked for before may still be answered, by another host for one.
TEST(Conformance, C80_ALifeThatIsBuriedReachesNoMemory) {
  TestRig rig;
  FakeEnd end(rig.guest(0));
  make_burial_long(end);
  const verbs::QueuePair* qp = rig.device(0).adapter().find_qp(end.qp().number);
  ASSERT_NE(qp, nullptr);
  rig.machine(0).write_register(kRegCtl, kCtlReset);
  ASSERT_GT(rig.device(0).objects().queue_pairs, 0u) << "too many for one turn";
  static_cast<void>(
      qp->spec().send_cq->push({.wr_id = 1, .qp_tag = end.qp().handle}, verbs::Reveal::kNow));
  EXPECT_EQ(end.cq().unconsumed(), 0u);
  rig.run_until_idle();
  EXPECT_EQ(end.cq().unconsumed(), 0u);
  EXPECT_TRUE(no_objects(rig.device(0).objects()));
}

TEST(Conformance, C80_KexecProbesAgainWithoutAReset) {
  TestRig rig;
  start_traffic(rig);
  rig.machine(1).set_bus_master(false);  // the old kernel's shutdown
  rig.guest(1).forget_everything();
  rig.advance(std::chrono::milliseconds(100));
  EXPECT_TRUE(rig.machine(1).ram().intact_after_free());
  rig.machine(1).set_bus_master(true);  // the new kernel's, long before it probes
  rig.advance(std::chrono::milliseconds(100));
  EXPECT_TRUE(rig.machine(1).ram().intact_after_free());
  for (std::uint16_t vector = 0; vector < 3; ++vector) rig.machine(1).take_interrupt(vector);
  ASSERT_TRUE(rig.boot(1));
  expect_traffic(rig);
}

TEST(Conformance, C80_AProbeThatFailsBeforeActivateLeavesNoDma) {
  RigOptions options;
  options.boot = false;
  TestRig rig(options);
  FakeGuest& guest = rig.guest(0);
  // No vmxnet3 is bound: the driver gives up right after the capabilities.
  for (int i = 0; i < 20; ++i) {
    rig.machine(0).set_bus_master(true);
    guest.allocate_shared();
    guest.announce_shared();
    EXPECT_TRUE(guest.capabilities_fit());
    guest.release_shared();
    rig.machine(0).set_bus_master(false);
    rig.advance(std::chrono::milliseconds(10));
    EXPECT_TRUE(rig.machine(0).ram().intact_after_free());
  }
  ASSERT_TRUE(rig.boot(0));
  ASSERT_TRUE(rig.boot(1));
  expect_traffic(rig);
}

TEST(Conformance, C80_AProbeThatFailsAfterActivateLeavesNoDma) {
  TestRig rig;
  FakeGuest& guest = rig.guest(0);
  guest.machine().write_register(kRegImr, 0xFFFFFFFF);
  guest.forget_everything();  // no RESET
  rig.machine(0).set_bus_master(false);
  rig.advance(std::chrono::seconds(1));
  EXPECT_TRUE(rig.machine(0).ram().intact_after_free());
  ASSERT_TRUE(rig.boot(0));
  expect_traffic(rig);
}

TEST(Conformance, C80_AVmmThatGoesAwayTakesItsVmWithIt) {
  TestRig rig;
  EndOptions options;
  FakeEnd a(rig.guest(0), options);
  FakeEnd b(rig.guest(1), options);
  ASSERT_TRUE(connect(a, b, {.timeout = 8, .retry_count = 1}));
  rig.unplug(1);
  EXPECT_TRUE(no_objects(rig.device(1).objects()));
  ASSERT_TRUE(a.send(1, 0, 64));
  rig.advance(std::chrono::seconds(1));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_RETRY_EXC_ERR);
  EXPECT_EQ(rig.memory(1).usage().ranges, 0u);
}

TEST(Conformance, C80_UnloadAndReloadTwentyTimesLeavesNothing) {
  TestRig rig;
  for (int i = 0; i < 20; ++i) {
    expect_traffic(rig);
    rig.guest(0).unload();
    EXPECT_TRUE(no_objects(rig.device(0).objects())) << i;
    ASSERT_TRUE(rig.boot(0)) << i;
  }
}

TEST(Conformance, C80_MemoryThatIsUnmappedIsNotTouchedAgain) {
  TestRig rig;
  start_traffic(rig);
  rig.machine(1).unmap_ram();
  rig.advance(std::chrono::milliseconds(10));
  EXPECT_EQ(rig.device(1).fatal_reason(), "");
  EXPECT_EQ(rig.memory(1).usage().ranges, 0u);
  rig.machine(1).map_ram();
  rig.advance(std::chrono::seconds(1));
  EXPECT_EQ(rig.device(1).fatal_reason(), "");
}

TEST(Conformance, C80_MemoryThatFailsCostsThatVmItsDeviceAndNobodyElse) {
  if (kThreadSanitizer) GTEST_SKIP() << "the fake guest lives in the mapping that is replaced";
  ASSERT_TRUE(install_memory_failure_handler().has_value());
  TestRig rig;
  FakeEnd a(rig.guest(0));
  FakeEnd b(rig.guest(1));
  FakeEnd c(rig.guest(0));
  FakeEnd d(rig.guest(0));
  FakeMr& last = rig.guest(1).register_memory(b.pd(), 4096);
  ASSERT_TRUE(connect(a, b));
  ASSERT_TRUE(connect(c, d));
  const UniqueFd file = rig.guest(1).ram().duplicate_fd();
  const std::uint64_t kept = last.pages().pages.front() - GuestRam::kBase;
  ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(kept)), 0);
  ASSERT_TRUE(a.write(1, 0, 64, last));
  rig.settle();
  EXPECT_TRUE(rig.device(1).fatal_reason().starts_with("guest memory failed"));
  EXPECT_FALSE(rig.device(1).has_work());
  rig.unplug(1);  // what the daemon does about it
  EXPECT_TRUE(no_objects(rig.device(1).objects()));
  EXPECT_NE(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(rig.device(0).fatal_reason(), "");
  ASSERT_TRUE(d.receive(1));
  ASSERT_TRUE(c.send(2, 0, 64));
  EXPECT_EQ(next_status(rig, c.cq()), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(next_status(rig, d.cq()), PVRDMA_WC_SUCCESS);
}

}  // namespace
}  // namespace paravane::fake
