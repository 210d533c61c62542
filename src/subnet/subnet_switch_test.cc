#include "subnet/subnet_switch.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include "subnet/subnet_switch_test.h"
#include "testing/management_datagrams.h"
#include "testing/port_orders.h"

namespace paravane::subnet {
namespace {

namespace attribute = wire::infiniband::attribute;
using fake::departed;
using fake::get_of;
using fake::set_of;
using fake::smp_packet;
using wire::infiniband::kPermissiveLid;
using wire::infiniband::LinearBlock;
using wire::infiniband::PhysicalState;
using wire::infiniband::PortState;

// ---- Unicast ----

TEST_F(SubnetSwitchTest, APacketLeavesThroughThePortOfItsLid) {
  const Packet packet = data_packet(kReachedLid);
  arrive(1, packet);
  EXPECT_EQ(sent_through(2), packet);
  EXPECT_EQ(at(1).totals().received_unicast, 1u);
  EXPECT_EQ(at(1).totals().received_bytes, packet.size());
  EXPECT_EQ(at(2).totals().sent_unicast, 1u);
  EXPECT_EQ(at(2).totals().sent_bytes, packet.size());
}

Packet packet_from(std::uint16_t source, std::uint8_t lane = 0) {
  return fake::packet_with(
      {.source = source, .destination = kReachedLid, .lane = lane, .destination_qp = 0x40},
      std::array<std::byte, 20>{});
}

TEST_F(SubnetSwitchTest, NoOtherPortSpeaksAsANodeOfThisHost) {
  switch_.keep_source(1);
  arrive(1, packet_from(kManagerLid));
  EXPECT_EQ(ways_taken(), std::vector<PortNumber>{2});
  arrive(6, packet_from(kManagerLid));
  arrive(6, packet_from(kManagerLid, 15));
  arrive(6, packet_from(kOwnLid));
  EXPECT_TRUE(ways_taken().empty());
  EXPECT_EQ(at(6).totals().receive_errors, 3u);
  // A node that is behind another port may be reached by several ways.
  arrive(6, packet_from(kReachedLid));
  arrive(6, packet_from(0x17));
  EXPECT_EQ(ways_taken().size(), 2u);
  set_group(1 << 2 | 1 << 6);
  arrive(6, fake::packet_with(
                {.source = kManagerLid, .destination = kGroupLid, .destination_qp = 0xFFFFFF},
                std::array<std::byte, 20>{}));
  EXPECT_TRUE(ways_taken().empty());
  switch_.detach(1);
  arrive(6, packet_from(kManagerLid));
  EXPECT_EQ(ways_taken(), std::vector<PortNumber>{2});
}

// An answer to it would go to many, or to none.
TEST_F(SubnetSwitchTest, ASourceIsTheLidOfOneNode) {
  for (const std::uint16_t source :
       {std::uint16_t{0}, kPermissiveLid, kGroupLid, std::uint16_t{0xFFFE}})
    arrive(6, packet_from(source));
  arrive(6, packet_from(kGroupLid, 15));
  EXPECT_TRUE(ways_taken().empty());
  EXPECT_EQ(at(6).totals().receive_errors, 5u);
  // Without a LID yet.
  for (const std::uint16_t source : {std::uint16_t{0}, kPermissiveLid})
    arrive(6, packet_from(source, 15));
  EXPECT_EQ(ways_taken().size(), 2u);
}

TEST_F(SubnetSwitchTest, ALidWithoutAWayIsDroppedAndCounted) {
  const std::uint16_t lids[] = {0, 3, 0x3F, 0x40, 0x7FFF, 0xBFFF};
  for (const std::uint16_t lid : lids) arrive(1, data_packet(lid));
  EXPECT_TRUE(ways_taken().empty());
  EXPECT_EQ(at(1).totals().relay_errors, std::size(lids));
}

TEST_F(SubnetSwitchTest, AWayThatIsNotAPortIsNoWay) {
  LinearBlock block;
  for (const std::uint8_t way :
       std::initializer_list<std::uint8_t>{0, kOuterPorts + 1, 127, 128, 254}) {
    block.fill(way);
    ASSERT_TRUE(switch_.forwarding()->set_linear(0, block));
    arrive(1, data_packet(kReachedLid));
  }
  EXPECT_TRUE(ways_taken().empty());
  EXPECT_EQ(at(1).totals().relay_errors, 5u);
}

TEST_F(SubnetSwitchTest, APortWithNothingBehindItDiscards) {
  switch_.detach(2);
  EXPECT_FALSE(switch_.is_attached(2));
  EXPECT_EQ(at(2).state(), PortState::kDown);
  arrive(1, data_packet(kReachedLid));
  arrive(1, smp_packet(get_of(attribute::kNodeInfo), kReachedLid, kManagerLid));
  EXPECT_TRUE(ways_taken().empty());
  EXPECT_EQ(at(2).totals().send_discards, 2u);
}

TEST_F(SubnetSwitchTest, WhatComesAfterItsLinkHasGoneIsDropped) {
  switch_.let_manage(6, false);
  switch_.detach(6);
  LinearBlock hostile;
  hostile.fill(3);
  arrive(6, smp_packet(departed(set_of(attribute::kLinearTable, hostile), {1})));
  arrive(6, data_packet(kReachedLid));
  EXPECT_EQ(switch_.tables().way_to(kReachedLid), 2);
  EXPECT_TRUE(ways_taken().empty());
  EXPECT_EQ(at(6).totals().receive_errors, 2u);
}

TEST_F(SubnetSwitchTest, PacketsThatCannotBeAreCounted) {
  arrive(1, {});
  arrive(1, Packet(27));
  arrive(1, Packet(wire::infiniband::kMostPacketBytes + 1));
  EXPECT_EQ(at(1).totals().receive_errors, 3u);
  EXPECT_TRUE(ways_taken().empty());
}

TEST_F(SubnetSwitchTest, APacketAboveTheMtuOfItsLinkIsDropped) {
  wire::infiniband::PortInfo wish = fake::wish_at(at(2));
  wish.mtu_master_level = 0x40;  // 2048
  ASSERT_EQ(at(2).set_info(wish), 0);
  const auto packet_of = [](std::size_t payload) {
    return fake::packet_with({.source = kManagerLid, .destination = kReachedLid},
                             std::vector<std::byte>(payload));
  };
  arrive(1, packet_of(2048));
  EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{2}));
  arrive(1, packet_of(2400));
  EXPECT_TRUE(ways_taken().empty());
  EXPECT_EQ(at(2).totals().send_discards, 1u);
}

// ---- Multicast ----

TEST_F(SubnetSwitchTest, AGroupsPacketLeavesThroughAllItsPortsButTheOneItCameBy) {
  set_group(0b1'0010'0111);  // 0 is the switch itself
  const Packet packet = data_packet(kGroupLid);
  arrive(2, packet);
  EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{1, 5, 8}));
  arrive(3, packet);
  EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{1, 2, 5, 8}));
  EXPECT_EQ(at(2).totals().received_multicast, 1u);
  EXPECT_EQ(at(5).totals().sent_multicast, 2u);
  EXPECT_EQ(at(3).totals().relay_errors, 0u);
}

TEST_F(SubnetSwitchTest, AGroupWithoutPortsIsDroppedAndCounted) {
  arrive(2, data_packet(kGroupLid));
  arrive(2, data_packet(0xFFFE));
  EXPECT_EQ(at(2).totals().relay_errors, 2u);
  set_group(1U << 2);  // only where it came from
  arrive(2, data_packet(kGroupLid));
  EXPECT_EQ(at(2).totals().relay_errors, 2u);
  EXPECT_TRUE(ways_taken().empty());
}

TEST_F(SubnetSwitchTest, BitsBeyondItsPortsLeadNowhere) {
  set_group(0xFE00);
  arrive(2, data_packet(kGroupLid));
  EXPECT_TRUE(ways_taken().empty());
}

// ---- States of ports ----

TEST_F(SubnetSwitchTest, DataEntersArmedAndActivePorts) {
  at(1).link_down();
  arrive(1, data_packet(kReachedLid));
  at(1).link_up(Speed::kQuad);
  arrive(1, data_packet(kReachedLid));
  EXPECT_TRUE(ways_taken().empty());
  EXPECT_EQ(at(1).totals().receive_errors, 2u);
  EXPECT_EQ(at(1).state(), PortState::kInitialize);
  ASSERT_TRUE(fake::order_port(at(1), PortState::kArmed));
  arrive(1, data_packet(kReachedLid));
  EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{2}));
  EXPECT_EQ(at(1).state(), PortState::kActive);  // 7.2.7
}

TEST_F(SubnetSwitchTest, DataLeavesThroughActivePortsAlone) {
  set_group(0b1'1111'1110);
  at(2).link_down();
  at(3).link_down();
  at(3).link_up(Speed::kQuad);
  at(4).link_down();
  at(4).link_up(Speed::kQuad);
  ASSERT_TRUE(fake::order_port(at(4), PortState::kArmed));
  arrive(1, data_packet(kReachedLid));
  EXPECT_TRUE(ways_taken().empty());
  EXPECT_EQ(at(2).totals().send_discards, 1u);
  arrive(1, data_packet(kGroupLid));
  EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{5, 6, 7, 8}));
  EXPECT_EQ(at(3).totals().send_discards, 1u);
  EXPECT_EQ(at(4).totals().send_discards, 1u);
}

TEST_F(SubnetSwitchTest, ManagementPassesWhatIsNotActive) {
  at(1).link_down();
  at(1).link_up(Speed::kQuad);
  at(2).link_down();
  at(2).link_up(Speed::kQuad);
  arrive(1, smp_packet(get_of(attribute::kNodeInfo), kReachedLid, kManagerLid));
  EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{2}));
}

TEST_F(SubnetSwitchTest, AnOrderForALinkIsPassedOn) {
  wire::infiniband::PortInfo wish = fake::wish_at(at(3));
  wish.physical_state_default =
      static_cast<std::uint8_t>(static_cast<unsigned>(PhysicalState::kDisabled) << 4);
  EXPECT_EQ(at(3).set_info(wish), 0);
  EXPECT_EQ(ends_[3].orders, 1u);
  switch_.detach(3);
  wish.physical_state_default = 0x20;
  EXPECT_EQ(at(3).set_info(wish), 0);
  EXPECT_EQ(ends_[3].orders, 1u);
}

// ---- Anything ----

TEST_F(SubnetSwitchTest, RandomPacketsDoNoHarm) {
  std::mt19937 random(11);
  set_group(0xFFFF);
  std::uint64_t left = 0;
  for (int round = 0; round < 20'000; ++round) {
    Packet packet = smp_packet(departed(get_of(attribute::kNodeInfo), {1, 2}),
                               random() % 2 == 0 ? kOwnLid : kPermissiveLid);
    for (unsigned i = 0; i < 1 + random() % 8; ++i)
      packet[random() % packet.size()] = static_cast<std::byte>(random());
    if (random() % 4 == 0) packet.resize(random() % packet.size());
    arrive(static_cast<PortNumber>(1 + random() % kOuterPorts), packet);
    left += ways_taken().size();
  }
  EXPECT_LE(left, 20'000u * kOuterPorts);
  EXPECT_TRUE(queue_.empty());
}

}  // namespace
}  // namespace paravane::subnet
