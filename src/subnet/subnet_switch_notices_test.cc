// What SubnetSwitch tells the manager of.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include "subnet/subnet_switch_test.h"
#include "testing/management_datagrams.h"
#include "testing/port_orders.h"

namespace paravane::subnet {
namespace {

using namespace std::chrono_literals;
namespace method = wire::infiniband::method;
using fake::attribute_in;
using fake::mad_in;
using fake::Smp;
using fake::smp_packet;
using wire::infiniband::PortState;

class SwitchNoticesTest : public SubnetSwitchTest {
 protected:
  SwitchNoticesTest() {
    // What its ports' links have told so far.
    EXPECT_TRUE(fake::set_port_identity(at(0), kOwnLid, kManagerLid));
    switch_.on_time(clock_.now);
    for (const Packet& packet : ends_[1].take()) arrive(1, repress_of(packet));
    clock_.now += 1min;
    switch_.on_time(clock_.now);
    EXPECT_TRUE(ways_taken().empty());
  }
  static Packet repress_of(const Packet& trap, std::uint64_t key = 0) {
    Smp smp = mad_in<Smp>(trap);
    smp.header.method = method::kTrapRepress;
    smp.management_key.set(key);
    return smp_packet(smp, kOwnLid, kManagerLid);
  }
  std::vector<Packet> told() {
    switch_.on_time(clock_.now);
    return ends_[1].take();
  }
};

TEST_F(SwitchNoticesTest, APortThatGoesDownOrComesUpIsTold) {
  at(4).link_down();
  EXPECT_EQ(switch_.next_deadline(), clock_.now);
  const std::vector<Packet> traps = told();
  ASSERT_EQ(traps.size(), 1u);
  const auto read = wire::infiniband::read_datagram(traps[0]);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->headers.destination, kManagerLid);
  EXPECT_EQ(read->headers.source, kOwnLid);
  EXPECT_EQ(read->headers.lane, 15);
  const Smp trap = mad_in<Smp>(traps[0]);
  EXPECT_EQ(trap.header.method, method::kTrap);
  EXPECT_EQ(trap.header.management_class, wire::infiniband::management_class::kSubnetByLid);
  const auto notice = attribute_in<wire::infiniband::Notice>(trap);
  EXPECT_EQ(notice.generic_type, 0x81);
  EXPECT_EQ(notice.producer.get(), 2u);
  EXPECT_EQ(notice.trap.get(), 128);
  EXPECT_EQ(notice.issuer.get(), kOwnLid);
  EXPECT_EQ(notice.details[0] << 8 | notice.details[1], kOwnLid);
  EXPECT_NE(switch_.tables().info().life_change & wire::infiniband::kPortStateChanged, 0);
}

TEST_F(SwitchNoticesTest, WhatTheManagerOrdersItselfIsNotTold) {
  at(4).link_down();
  at(4).link_up(Speed::kQuad);
  for (const Packet& packet : told()) arrive(1, repress_of(packet));
  ASSERT_TRUE(fake::order_port(at(4), PortState::kArmed));
  ASSERT_TRUE(fake::order_port(at(4), PortState::kActive));
  clock_.now += 1min;
  EXPECT_TRUE(told().empty());
}

TEST_F(SwitchNoticesTest, IsToldAgainUntilItIsRepressed) {
  at(4).link_down();
  const std::vector<Packet> first = told();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_TRUE(told().empty());
  clock_.now += Notices::kFirstPause;
  const std::vector<Packet> second = told();
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0], first[0]);
  arrive(1, repress_of(first[0]));
  clock_.now += 1min;
  EXPECT_TRUE(told().empty());
  EXPECT_EQ(switch_.next_deadline(), kNever);
}

TEST_F(SwitchNoticesTest, ANoticeIsRepressedWithTheKeyAlone) {
  ASSERT_TRUE(fake::set_port_identity(at(0), kOwnLid, kManagerLid, kManagersKey));
  at(4).link_down();
  const std::vector<Packet> traps = told();
  ASSERT_EQ(traps.size(), 1u);
  arrive(5, repress_of(traps[0]));
  arrive(5, repress_of(traps[0], kManagersKey + 1));
  EXPECT_EQ(at(0).info().key_violations.get(), 2);
  const std::vector<Packet> security = told();
  ASSERT_EQ(security.size(), 1u);
  EXPECT_EQ(attribute_in<wire::infiniband::Notice>(mad_in<Smp>(security[0])).trap.get(), 256);
  clock_.now += 1min;
  EXPECT_EQ(told().size(), 2u);
  arrive(1, repress_of(traps[0], kManagersKey));
  clock_.now += 1min;
  for (const Packet& packet : told())
    EXPECT_EQ(attribute_in<wire::infiniband::Notice>(mad_in<Smp>(packet)).trap.get(), 256);
}

TEST_F(SwitchNoticesTest, AForbiddenPartitionIsTold) {
  enforce(3, true, false, {0x8001});
  arrive(3, data_packet(kReachedLid, 0x8003));
  const std::vector<Packet> traps = told();
  ASSERT_EQ(traps.size(), 1u);
  const auto notice = attribute_in<wire::infiniband::Notice>(mad_in<Smp>(traps[0]));
  EXPECT_EQ(notice.trap.get(), 259);
  EXPECT_EQ(notice.generic_type, 0x82);
  EXPECT_EQ(notice.producer.get(), 2u);
  wire::infiniband::BadPartitionAtSwitch details;
  std::memcpy(&details, notice.details.data(), sizeof details);
  EXPECT_EQ(details.valid.get(), 0x3F);
  EXPECT_EQ(details.key.get(), 0x8003);
  EXPECT_EQ(details.destination.get(), kReachedLid);
  EXPECT_EQ(details.port, 3);
  EXPECT_EQ(details.switch_lid.get(), kOwnLid);
}

TEST_F(SwitchNoticesTest, WithoutAManagerItWaits) {
  ASSERT_TRUE(fake::set_port_identity(at(0), 0, 0));
  at(4).link_down();
  clock_.now += 1min;
  EXPECT_TRUE(told().empty());
  EXPECT_EQ(switch_.next_deadline(), kNever);
  // And tells it with the LID that it has by then.
  ASSERT_TRUE(fake::set_port_identity(at(0), 0x31, kManagerLid));
  const std::vector<Packet> traps = told();
  ASSERT_EQ(traps.size(), 1u);
  const auto notice = attribute_in<wire::infiniband::Notice>(mad_in<Smp>(traps[0]));
  EXPECT_EQ(notice.issuer.get(), 0x31);
  EXPECT_EQ(notice.details[1], 0x31);
}

}  // namespace
}  // namespace paravane::subnet
