// The port's link and the device's end, as the guest sees them (device spec 6.6, 10.6).

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "test_rig.h"

namespace paravane::fake {
namespace {

using Events = std::vector<AsyncEvent>;

constexpr std::uint32_t kPortNumber = 1;
constexpr std::uint32_t kDown = 1;
constexpr std::uint32_t kActive = 4;
constexpr std::uint8_t kDisabled = 3;
constexpr std::uint8_t kLinkUp = 5;

QueryPortResponse port_of(FakeGuest& guest) {
  QueryPort request{};
  request.port_num = kPortNumber;
  const auto outcome = guest.run(request);
  EXPECT_TRUE(outcome.accepted());
  return outcome.response;
}

// The driver takes events from its first user context on.
struct EventRig : TestRig {
  EventRig() {
    for (unsigned vm = 0; vm < size(); ++vm) guest(vm).open_context();
  }
};

Events events_of(FakeGuest& guest) {
  guest.handle_interrupts();
  return std::exchange(guest.async_events(), {});
}

TEST(Conformance, C47_PortEventsNameThePort) {
  EventRig rig;
  FakeGuest& guest = rig.guest(0);
  rig.set_link(0, false);
  EXPECT_EQ(events_of(guest), (Events{{kEventPortError, kPortNumber}}));
  EXPECT_EQ(port_of(guest).attrs.state, kDown);
  EXPECT_EQ(port_of(guest).attrs.phys_state, kDisabled);
  rig.set_link(0, true);
  EXPECT_EQ(events_of(guest), (Events{{kEventPortActive, kPortNumber}}));
  EXPECT_EQ(port_of(guest).attrs.state, kActive);
  EXPECT_EQ(port_of(guest).attrs.phys_state, kLinkUp);
}

TEST(PortEvents, TellOnlyWhatChanged) {
  EventRig rig;
  rig.set_link(0, true);
  EXPECT_EQ(events_of(rig.guest(0)), Events{});
  rig.set_link(0, false);
  rig.set_link(0, false);
  EXPECT_EQ(events_of(rig.guest(0)).size(), 1u);
  EXPECT_EQ(events_of(rig.guest(1)), Events{});
}

TEST(PortEvents, RequestsToAPortThatIsDownGoUnanswered) {
  for (const unsigned pulled : {0u, 1u}) {
    TestRig rig;
    EndOptions options;
    FakeEnd a(rig.guest(0), options);
    FakeEnd b(rig.guest(1), options);
    ASSERT_TRUE(connect(a, b, {.timeout = 8, .retry_count = 1}));
    ASSERT_TRUE(b.receive(1, 0, 64));
    rig.set_link(pulled, false);
    ASSERT_TRUE(a.send(1, 0, 64));
    rig.advance(std::chrono::seconds(1));
    EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_RETRY_EXC_ERR) << pulled;
  }
}

TEST(PortEvents, ALinkThatComesBackInTimeLosesNothing) {
  TestRig rig;
  EndOptions options;
  FakeEnd a(rig.guest(0), options);
  FakeEnd b(rig.guest(1), options);
  ASSERT_TRUE(connect(a, b, {.timeout = 18, .retry_count = 7}));
  ASSERT_TRUE(b.receive(1, 0, 64));
  rig.set_link(1, false);
  ASSERT_TRUE(a.send(1, 0, 64));
  rig.advance(std::chrono::seconds(1));
  rig.set_link(1, true);
  rig.advance(std::chrono::seconds(3));
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(next_status(rig, b.cq()), PVRDMA_WC_SUCCESS);
}

TEST(PortEvents, ADeviceThatIsTakenAwaySaysSo) {
  EventRig rig;
  rig.device(0).tell_gone();
  EXPECT_EQ(events_of(rig.guest(0)), (Events{{kEventDeviceFatal, kPortNumber}}));
}

}  // namespace
}  // namespace paravane::fake
