// A device whose objects ended with the engine that was killed, as the guest's driver sees it.

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "state/writer.h"
#include "test_rig.h"

namespace paravane::fake {
namespace {

constexpr std::uint32_t kOnePort = 1;

void lose(TestRig& rig) {
  state::Writer out;
  rig.device(0).keep(out);
  ASSERT_TRUE(rig.replace(0, out.take()));
  ASSERT_TRUE(rig.device(0).lost());
}

TEST(LostDevice, CommandsFailAtOnceUntilTheDriverStartsAnew) {
  TestRig rig;
  FakeGuest& guest = rig.guest(0);
  guest.create_cq(guest.open_context(), 16);
  lose(rig);
  QueryPort request{};
  request.port_num = kOnePort;
  for (int i = 0; i < 3; ++i) EXPECT_NE(guest.run(request).err, 0u) << "the driver would wait";
  guest.forget_everything();
  ASSERT_TRUE(rig.boot(0));
  EXPECT_FALSE(rig.device(0).lost());
  guest.create_cq(guest.open_context(), 16);
}

TEST(LostDevice, TheGuestIsToldInItsRing) {
  TestRig rig;
  FakeGuest& guest = rig.guest(0);
  guest.open_context();
  for (int i = 0; i < 20; ++i) {  // the ring is somewhere
    rig.set_link(0, i % 2 != 0);
    guest.handle_interrupts();
  }
  guest.async_events().clear();
  lose(rig);
  rig.device(0).tell_lost();
  guest.handle_interrupts();
  EXPECT_EQ(guest.async_events(), (std::vector<AsyncEvent>{{kEventDeviceFatal, kOnePort}}));
}

// It has written its request, has read 0 from ERR, and waits for vector 0.
TEST(LostDevice, ACommandThatIsWaitedForHasFailed) {
  TestRig rig;
  FakeGuest& guest = rig.guest(0);
  QueryPort request{};
  request.port_num = kOnePort;
  ASSERT_TRUE(guest.run(request).accepted());
  for (std::uint16_t vector = 0; vector < 3; ++vector) rig.machine(0).take_interrupt(vector);
  lose(rig);
  rig.device(0).tell_lost();
  EXPECT_EQ(rig.machine(0).take_interrupt(0), 1u);
  QueryPortResponse response{};
  std::memcpy(&response, guest.response_slot(), sizeof response);
  EXPECT_EQ(response.header.ack, 0u) << "it would be taken for the answer";
}

TEST(LostDevice, StaysLostInTheNextEngines) {
  TestRig rig;
  rig.guest(0).open_context();
  lose(rig);
  lose(rig);
  rig.hand_over(0);
  EXPECT_TRUE(rig.device(0).lost());
  rig.machine(0).set_bus_master(false);
  EXPECT_FALSE(rig.device(0).lost()) << "its driver has gone";
}

}  // namespace
}  // namespace paravane::fake
