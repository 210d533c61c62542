// The states of Port, by orders of a manager and by its link.

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "subnet/port_test.h"

namespace paravane::subnet {
namespace {

using wire::infiniband::PhysicalState;
using wire::infiniband::PortInfo;
using wire::infiniband::PortState;

// ---- Orders ----

TEST_F(PortTest, GoesFromInitializeToActiveByOrders) {
  port_.link_up(Speed::kDouble);
  EXPECT_EQ(port_.state(), PortState::kInitialize);
  EXPECT_EQ(port_.physical_state(), PhysicalState::kLinkUp);
  EXPECT_FALSE(port_.sends_data());
  EXPECT_FALSE(port_.receives_data());
  EXPECT_EQ(order(PortState::kArmed), 0);
  EXPECT_FALSE(port_.sends_data());
  EXPECT_TRUE(port_.receives_data());
  EXPECT_EQ(order(PortState::kActive), 0);
  EXPECT_TRUE(port_.sends_data());
  EXPECT_TRUE(port_.receives_data());
  EXPECT_EQ(news_, (std::vector(3, PortNews::kChange)));
  news_.clear();
  EXPECT_EQ(order(PortState::kActive), 0);  // which it is
  EXPECT_TRUE(news_.empty());
}

TEST_F(PortTest, AnOrderDownHasTheLinkJudged) {
  bring_to(PortState::kActive);
  news_.clear();
  EXPECT_EQ(order(PortState::kDown), 0);
  EXPECT_EQ(port_.state(), PortState::kDown);
  EXPECT_EQ(port_.physical_state(), PhysicalState::kPolling);
  EXPECT_EQ(news_, (std::vector{PortNews::kChange, PortNews::kOrder}));
  EXPECT_EQ(port_.totals().link_downed, 1u);
}

TEST_F(PortTest, ADisabledPortStaysDisabledUntilItIsToPoll) {
  bring_to(PortState::kActive);
  news_.clear();
  EXPECT_EQ(order(PhysicalState::kDisabled), 0);
  EXPECT_TRUE(port_.is_disabled());
  EXPECT_EQ(port_.state(), PortState::kDown);
  EXPECT_EQ(news_, (std::vector{PortNews::kChange, PortNews::kOrder}));
  port_.link_down();
  EXPECT_TRUE(port_.is_disabled());
  EXPECT_EQ(order(PhysicalState::kPolling), 0);
  EXPECT_FALSE(port_.is_disabled());
  EXPECT_EQ(port_.physical_state(), PhysicalState::kPolling);
}

TEST_F(PortTest, AnOrderDownDoesNotEnableADisabledPort) {
  bring_to(PortState::kActive);
  EXPECT_EQ(order(PhysicalState::kDisabled), 0);
  EXPECT_EQ(order(PortState::kDown), 0);
  EXPECT_TRUE(port_.is_disabled());
}

TEST_F(PortTest, PollingTakesALinkDownThatWasUp) {
  bring_to(PortState::kActive);
  EXPECT_EQ(order(PhysicalState::kPolling), 0);
  EXPECT_EQ(port_.state(), PortState::kDown);
}

TEST_F(PortTest, ASleepingPortIsDown) {
  bring_to(PortState::kActive);
  EXPECT_EQ(order(PhysicalState::kSleep), 0);
  EXPECT_EQ(port_.state(), PortState::kDown);
  EXPECT_EQ(port_.physical_state(), PhysicalState::kSleep);
}

TEST_F(PortTest, APortThatGoesDownSleepsIfThatIsItsDefault) {
  bring_to(PortState::kActive);
  EXPECT_EQ(set([](PortInfo& info) { info.physical_state_default = 1; }), 0);
  port_.link_down();
  EXPECT_TRUE(port_.is_asleep());
  port_.link_up(Speed::kQuad);
  EXPECT_EQ(set([](PortInfo& info) {
              info.speed_supported_state = (info.speed_supported_state & 0xF0) | 1;
              info.physical_state_default = 0;
            }),
            0);
  EXPECT_TRUE(port_.is_asleep());
  EXPECT_EQ(order(PhysicalState::kPolling), 0);
  EXPECT_EQ(port_.physical_state(), PhysicalState::kPolling);
  // No other state is one.
  for (const std::uint8_t state : std::initializer_list<std::uint8_t>{3, 4, 5, 15})
    EXPECT_NE(set([state](PortInfo& info) { info.physical_state_default = state; }), 0);
}

TEST_F(PortTest, ASwitchsOwnPortIsAlwaysActive) {
  own_.link_up(Speed::kQuad);
  EXPECT_TRUE(own_.is_active());
  PortInfo wish = own_.info();
  wish.physical_state_default = 0x30;
  wish.speed_supported_state = (wish.speed_supported_state & 0xF0) | 1;
  EXPECT_EQ(own_.set_info(wish), 0);
  EXPECT_TRUE(own_.is_active());
  EXPECT_FALSE(own_.is_disabled());
}

// ---- The link ----

TEST_F(PortTest, ALinkHasItsSlowerSpeed) {
  port_.link_up(Speed::kSingle);
  EXPECT_EQ(port_.info().speed_active_enabled, 0x13);
}

TEST_F(PortTest, ALinkThatIsDownIsNotNews) {
  port_.link_down();
  EXPECT_TRUE(news_.empty());
  EXPECT_EQ(port_.totals().link_downed, 0u);
  port_.link_up(Speed::kQuad);
  port_.link_down();
  EXPECT_EQ(port_.totals().link_downed, 1u);
}

TEST_F(PortTest, DataMakesAnArmedPortActive) {
  port_.link_up(Speed::kQuad);
  port_.heard_data();
  EXPECT_EQ(port_.state(), PortState::kInitialize);
  EXPECT_EQ(order(PortState::kArmed), 0);
  news_.clear();
  port_.heard_data();
  EXPECT_TRUE(port_.is_active());
  port_.heard_data();
  EXPECT_EQ(news_, (std::vector{PortNews::kChange}));
}

TEST_F(PortTest, ItsIdentityOutlivesItsLink) {
  EXPECT_EQ(set([](PortInfo& info) { info.lid.set(9); }), 0);
  bring_to(PortState::kActive);
  port_.link_down();
  port_.link_up(Speed::kQuad);
  EXPECT_EQ(port_.lid(), 9);
}

}  // namespace
}  // namespace paravane::subnet
