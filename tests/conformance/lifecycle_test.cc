// Conformance: guests that reset, crash, start anew or never finish their probe
// (device spec, C80), seen from the device.

#include <unistd.h>

#include "guestmem/memory_failure.h"
#include "test_rig.h"
#include "testing/test_memory.h"

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
