#include "subnet/local_link.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "testing/bare_node.h"
#include "testing/heard_packets.h"
#include "testing/port_orders.h"

namespace paravane::subnet {
namespace {

using fake::BareNode;
using fake::HeardPackets;
using wire::infiniband::NodeType;
using wire::infiniband::PhysicalState;
using wire::infiniband::PortInfo;
using wire::infiniband::PortState;

class LocalLinkTest : public testing::Test {
 protected:
  static void order(Port& port, PhysicalState state) {
    PortInfo wish = fake::wish_at(port);
    wish.physical_state_default = static_cast<std::uint8_t>(static_cast<unsigned>(state) << 4);
    EXPECT_EQ(port.set_info(wish), 0);
  }
  // As a node passes it on.
  void order_at_adapter(PhysicalState state) {
    order(adapter(), state);
    link_.one().on_order();
  }
  void order_at_switch(PhysicalState state) {
    order(outer(), state);
    link_.other().on_order();
  }
  Port& adapter() { return *adapter_.port(1); }
  Port& outer() { return *switch_.port(4); }
  void expect_both(PortState state) {
    EXPECT_EQ(adapter().state(), state);
    EXPECT_EQ(outer().state(), state);
  }

  BareNode adapter_{NodeType::kChannelAdapter, 1};
  BareNode switch_{NodeType::kSwitch, 4};
  HeardPackets at_adapter_;
  HeardPackets at_switch_;
  PacketQueue queue_;
  LocalLink link_{{.node = adapter_, .receiver = at_adapter_, .number = 1},
                  {.node = switch_, .receiver = at_switch_, .number = 4},
                  queue_};
};

TEST_F(LocalLinkTest, TrainsBothPortsOnce) {
  expect_both(PortState::kDown);
  link_.judge();
  expect_both(PortState::kInitialize);
  EXPECT_EQ(adapter().physical_state(), PhysicalState::kLinkUp);
  EXPECT_EQ(outer().physical_state(), PhysicalState::kLinkUp);
  adapter_.changes.clear();
  link_.judge();
  EXPECT_TRUE(adapter_.changes.empty());
}

TEST_F(LocalLinkTest, ADisabledEndKeepsBothDown) {
  link_.judge();
  order_at_switch(PhysicalState::kDisabled);
  link_.judge();
  expect_both(PortState::kDown);
  EXPECT_EQ(adapter().physical_state(), PhysicalState::kPolling);
  EXPECT_TRUE(outer().is_disabled());
  // The other end cannot bring it up.
  order_at_adapter(PhysicalState::kPolling);
  link_.judge();
  expect_both(PortState::kDown);
  order_at_switch(PhysicalState::kPolling);
  link_.judge();
  expect_both(PortState::kInitialize);
}

TEST_F(LocalLinkTest, AnEndThatBouncesTakesTheOtherWithIt) {
  link_.judge();
  order_at_adapter(PhysicalState::kPolling);
  EXPECT_EQ(adapter().state(), PortState::kDown);
  EXPECT_EQ(outer().state(), PortState::kInitialize);
  link_.judge();
  expect_both(PortState::kInitialize);
  EXPECT_EQ(outer().totals().link_downed, 1u);
  EXPECT_EQ(adapter().totals().link_downed, 1u);
}

TEST_F(LocalLinkTest, APacketArrivesAtTheOtherEndInALaterStep) {
  link_.judge();
  link_.one().send(Packet(100));
  link_.other().send(Packet(60));
  EXPECT_TRUE(at_switch_.ports.empty());
  EXPECT_EQ(queue_.deliver(10), 2u);
  EXPECT_EQ(at_switch_.ports, (std::vector<PortNumber>{4}));
  EXPECT_EQ(at_switch_.bytes, (std::vector<std::size_t>{100}));
  EXPECT_EQ(at_adapter_.ports, (std::vector<PortNumber>{1}));
  EXPECT_EQ(at_adapter_.bytes, (std::vector<std::size_t>{60}));
}

TEST_F(LocalLinkTest, ALinkThatIsDownDropsAndCounts) {
  link_.one().send(Packet(100));
  EXPECT_EQ(adapter().totals().send_discards, 1u);
  link_.judge();
  order_at_switch(PhysicalState::kDisabled);  // not judged yet: one end is down
  link_.one().send(Packet(100));
  link_.other().send(Packet(100));
  EXPECT_EQ(adapter().totals().send_discards, 2u);
  EXPECT_EQ(outer().totals().send_discards, 1u);
  EXPECT_TRUE(queue_.empty());
}

TEST_F(LocalLinkTest, WhatDoesNotFitTheQueueIsDroppedAndCounted) {
  link_.judge();
  const std::size_t most = PacketQueue::kMostOfSource / 4096;
  for (std::size_t i = 0; i < most + 5; ++i) link_.one().send(Packet(4096));
  EXPECT_EQ(adapter().totals().send_discards, 5u);
  EXPECT_EQ(queue_.deliver(most * 2), most);
  link_.one().send(Packet(4096));
  EXPECT_EQ(adapter().totals().send_discards, 5u);
}

TEST_F(LocalLinkTest, PortsThatBothSleepHaveNoLink) {
  link_.judge();
  for (Port* port : {&adapter(), &outer()}) {
    PortInfo wish = fake::wish_at(*port);
    wish.physical_state_default = 1;
    EXPECT_EQ(port->set_info(wish), 0);
  }
  outer().link_down();
  link_.other().on_order();
  link_.judge();
  expect_both(PortState::kDown);
  order_at_switch(PhysicalState::kPolling);
  link_.judge();
  expect_both(PortState::kInitialize);
}

// The way back, and other ports, have room while one port floods.
TEST_F(LocalLinkTest, APortThatFloodsLeavesRoomForOthers) {
  link_.judge();
  for (std::size_t i = 0; i < 2 * PacketQueue::kMostBytes / 4096; ++i)
    link_.one().send(Packet(4096));
  EXPECT_GT(adapter().totals().send_discards, 0u);
  link_.other().send(Packet(4096));
  EXPECT_EQ(outer().totals().send_discards, 0u);
}

}  // namespace
}  // namespace paravane::subnet
