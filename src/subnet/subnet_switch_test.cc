#include "subnet/subnet_switch.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

#include "testing/management_datagrams.h"
#include "testing/recording_link_end.h"

namespace paravane::subnet {
namespace {

using namespace std::chrono_literals;
namespace attribute = wire::infiniband::attribute;
namespace method = wire::infiniband::method;
using fake::attribute_in;
using fake::departed;
using fake::get_of;
using fake::mad_in;
using fake::set_of;
using fake::Smp;
using fake::smp_of;
using fake::smp_packet;
using fake::status_of;
using wire::infiniband::DatagramHeaders;
using wire::infiniband::kNoPort;
using wire::infiniband::kPermissiveLid;
using wire::infiniband::LinearBlock;
using wire::infiniband::MulticastBlock;
using wire::infiniband::PerformancePacket;
using wire::infiniband::PhysicalState;
using wire::infiniband::PortState;

constexpr PortNumber kOuterPorts = 8;
constexpr std::uint16_t kOwnLid = 0x30;
constexpr std::uint16_t kManagerLid = 1;  // through port 1
constexpr std::uint16_t kReachedLid = 2;  // through port 2
constexpr std::uint64_t kManagersKey = 0xABCD;
constexpr std::uint16_t kGroupLid = 0xC003;

class SubnetSwitchTest : public testing::Test {
 protected:
  SubnetSwitchTest() {
    for (PortNumber port = 1; port <= kOuterPorts; ++port) {
      switch_.attach(port, ends_[port]);
      EXPECT_TRUE(fake::set_port_active(at(port)));
    }
    EXPECT_TRUE(fake::set_port_identity(at(0), kOwnLid, 0));
    LinearBlock block;
    block.fill(kNoPort);
    block[kManagerLid] = 1;
    block[kReachedLid] = 2;
    EXPECT_TRUE(switch_.forwarding()->set_linear(0, block));
    wire::infiniband::SwitchInfo info = switch_.forwarding()->info();
    info.linear_top.set(0x3F);
    info.life_change |= wire::infiniband::kPortStateChanged;
    EXPECT_TRUE(switch_.forwarding()->set_info(info));
  }

  Port& at(PortNumber port) { return *switch_.port(port); }
  static Packet data_packet(std::uint16_t to, std::uint16_t partition = 0xFFFF,
                            bool global = false) {
    DatagramHeaders headers{
        .source = kManagerLid, .destination = to, .partition = partition, .destination_qp = 0x40};
    if (global) headers.global = wire::infiniband::GlobalRoute{};
    return fake::packet_with(headers, std::array<std::byte, 20>{});
  }
  void arrive(PortNumber port, Packet packet) { switch_.on_packet(port, std::move(packet)); }
  // How many packets have left through each port; they are forgotten.
  std::vector<PortNumber> ways_taken() {
    std::vector<PortNumber> ways;
    for (PortNumber port = 1; port <= kOuterPorts; ++port)
      ways.insert(ways.end(), ends_[port].take().size(), port);
    return ways;
  }
  // The only packet that has left, through that port.
  Packet sent_through(PortNumber port) {
    std::vector<Packet> sent = ends_[port].take();
    EXPECT_EQ(sent.size(), 1u);
    EXPECT_TRUE(ways_taken().empty());
    return sent.empty() ? Packet() : sent.front();
  }
  void set_group(std::uint16_t mask) {
    MulticastBlock masks;
    masks[kGroupLid - 0xC000].set(mask);
    EXPECT_TRUE(switch_.forwarding()->set_multicast(0, 0, masks));
  }
  void enforce(PortNumber port, bool in, bool out, std::vector<std::uint16_t> keys) {
    wire::infiniband::PortInfo wish = at(port).info();
    wish.speed_supported_state &= 0xF0;
    wish.physical_state_default &= 0x0F;
    wish.lanes_enforcement = static_cast<std::uint8_t>((in ? 8 : 0) | (out ? 4 : 0));
    EXPECT_EQ(at(port).set_info(wish), 0);
    EXPECT_TRUE(fake::set_port_keys(at(port), std::move(keys)));
  }

  TurnClock clock_{Instant(1h)};
  PacketQueue queue_;
  std::array<fake::RecordingLinkEnd, kOuterPorts + 1> ends_;
  SubnetSwitch switch_{0x0202'0000'0000'0100, "host switch", kOuterPorts, queue_, clock_};
};

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

// ---- Partitions ----

TEST_F(SubnetSwitchTest, APartitionIsKeptOutWhereItEnters) {
  enforce(1, true, false, {0x8001, 0x0002});
  for (const bool global : {false, true}) {
    const auto before = at(1).totals().receive_constraints;
    arrive(1, data_packet(kReachedLid, 0x8003, global));
    arrive(1, data_packet(kReachedLid, 0xFFFF, global));
    arrive(1, data_packet(kReachedLid, 0x0002, global));  // two limited members
    arrive(1, data_packet(kReachedLid, 0, global));
    EXPECT_TRUE(ways_taken().empty());
    EXPECT_EQ(at(1).totals().receive_constraints, before + 4);
    arrive(1, data_packet(kReachedLid, 0x8001, global));
    arrive(1, data_packet(kReachedLid, 0x0001, global));
    arrive(1, data_packet(kReachedLid, 0x8002, global));
    EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{2, 2, 2}));
  }
  arrive(3, data_packet(kReachedLid, 0x8003));  // another port
  EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{2}));
}

TEST_F(SubnetSwitchTest, APartitionIsKeptInWhereItWouldLeave) {
  enforce(2, false, true, {0x8001});
  set_group(0b0110);
  arrive(1, data_packet(kReachedLid, 0x8003));
  arrive(3, data_packet(kGroupLid, 0x8003));
  EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{1}));
  EXPECT_EQ(at(2).totals().send_constraints, 2u);
  arrive(1, data_packet(kReachedLid, 0x8001));
  EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{2}));
}

TEST_F(SubnetSwitchTest, APacketAboveTheMtuOfItsLinkIsDropped) {
  wire::infiniband::PortInfo wish = at(2).info();
  wish.speed_supported_state &= 0xF0;
  wish.physical_state_default &= 0x0F;
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

TEST_F(SubnetSwitchTest, ManagementIsNotForMany) {
  set_group(0b0110);
  arrive(3, smp_packet(get_of(attribute::kNodeInfo), kGroupLid, kManagerLid));
  EXPECT_TRUE(ways_taken().empty());
  EXPECT_EQ(at(3).totals().management_dropped, 1u);
}

TEST_F(SubnetSwitchTest, CountersAreNotReadOnTheLaneOfManagement) {
  PerformancePacket request;
  request.header.management_class = wire::infiniband::management_class::kPerformance;
  request.header.method = method::kGet;
  request.header.attribute.set(attribute::kPortCounters);
  request.data[1] = std::byte{1};
  DatagramHeaders headers = fake::service_headers(kManagerLid, kOwnLid);
  headers.lane = wire::infiniband::kManagementLane;
  arrive(1, fake::packet_with(headers, fake::mad_bytes(request)));
  EXPECT_TRUE(ways_taken().empty());
  headers.lane = 0;
  arrive(1, fake::packet_with(headers, fake::mad_bytes(request)));
  EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{1}));
}

TEST_F(SubnetSwitchTest, EnforcementDoesNotStopManagement) {
  enforce(1, true, true, {});
  enforce(2, true, true, {});
  arrive(1, smp_packet(get_of(attribute::kNodeInfo), kReachedLid, kManagerLid));
  EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{2}));
}

TEST_F(SubnetSwitchTest, RawPacketsDoNotPassEnforcement) {
  enforce(1, true, false, {0xFFFF});
  Packet raw = data_packet(kReachedLid);
  for (const std::uint8_t next : std::initializer_list<std::uint8_t>{0, 1}) {
    raw[1] = std::byte{next};
    arrive(1, raw);
  }
  EXPECT_TRUE(ways_taken().empty());
  EXPECT_EQ(at(1).totals().receive_constraints, 2u);
  // One that ends before its partition is one that shows none.
  Packet cut = data_packet(kReachedLid, 0xFFFF, true);
  cut.resize(48);
  arrive(1, cut);
  EXPECT_TRUE(ways_taken().empty());
}

// ---- Its own agents ----

TEST_F(SubnetSwitchTest, AnswersAlongTheRoute) {
  arrive(5, smp_packet(departed(get_of(attribute::kNodeInfo), {1})));
  const Smp answer = mad_in<Smp>(sent_through(5));
  EXPECT_EQ(answer.header.method, method::kGetResponse);
  EXPECT_EQ(answer.header.status.get(), wire::infiniband::kReturning);
  EXPECT_EQ(attribute_in<wire::infiniband::NodeInfo>(answer).local_port, 5);
  EXPECT_EQ(attribute_in<wire::infiniband::NodeInfo>(answer).type,
            wire::infiniband::NodeType::kSwitch);
}

TEST_F(SubnetSwitchTest, AnswersByLid) {
  arrive(1, smp_packet(get_of(attribute::kNodeInfo), kOwnLid, kManagerLid));
  const Packet packet = sent_through(1);
  EXPECT_EQ(mad_in<Smp>(packet).header.method, method::kGetResponse);
  const auto read = wire::infiniband::read_datagram(packet);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->headers.source, kOwnLid);
  EXPECT_EQ(read->headers.destination, kManagerLid);
  EXPECT_EQ(read->headers.lane, 15);
}

TEST_F(SubnetSwitchTest, SendsARouteOnThroughItsNextPort) {
  arrive(1, smp_packet(departed(get_of(attribute::kNodeInfo), {1, 4})));
  const Smp smp = mad_in<Smp>(sent_through(4));
  EXPECT_EQ(smp.header.class_specific.get(), fake::hops_of(2, 2));
  EXPECT_EQ(smp.return_path[1], 1);
}

TEST_F(SubnetSwitchTest, ARouteThroughAPortThatIsNotThereEnds) {
  for (const std::uint8_t port : std::initializer_list<std::uint8_t>{0, kOuterPorts + 1, 200})
    arrive(1, smp_packet(departed(get_of(attribute::kNodeInfo), {1, port})));
  EXPECT_TRUE(ways_taken().empty());
}

TEST_F(SubnetSwitchTest, AnAnswerThroughAPortThatIsNotThereEnds) {
  // A part by LID seems to have followed, so its way back is what the sender wrote.
  Smp smp = departed(get_of(attribute::kNodeInfo), {1});
  smp.header.class_specific.set(fake::hops_of(2, 1));
  for (const std::uint8_t port : std::initializer_list<std::uint8_t>{0, kOuterPorts + 1, 255}) {
    smp.return_path[1] = port;
    arrive(1, smp_packet(smp));
  }
  EXPECT_TRUE(ways_taken().empty());
}

TEST_F(SubnetSwitchTest, AKeyGuardsItsTables) {
  ASSERT_TRUE(fake::set_port_identity(at(0), kOwnLid, 0, kManagersKey));
  LinearBlock hostile;
  hostile.fill(3);
  Smp set = set_of(attribute::kLinearTable, hostile);
  arrive(4, smp_packet(departed(set, {1})));
  arrive(4, smp_packet(set, kOwnLid, 9));
  EXPECT_TRUE(ways_taken().empty());
  EXPECT_EQ(switch_.tables().way_to(kReachedLid), 2);
  EXPECT_EQ(at(0).info().key_violations.get(), 2);
  set.management_key.set(kManagersKey);
  arrive(4, smp_packet(departed(set, {1})));
  EXPECT_EQ(switch_.tables().way_to(kReachedLid), 3);
}

TEST_F(SubnetSwitchTest, SmpsOfTheWrongPlaceAreNotTaken) {
  const Smp get = get_of(attribute::kNodeInfo);
  DatagramHeaders headers{.source = kManagerLid, .destination = kOwnLid};
  arrive(1, fake::packet_with(headers, fake::mad_bytes(get)));  // a lane of data
  headers.lane = 15;
  headers.destination_qp = 1;
  arrive(1, fake::packet_with(headers, fake::mad_bytes(get)));
  headers.destination_qp = 0;
  arrive(1, fake::packet_with(headers, fake::mad_bytes(get).first(255)));
  Smp other = get;
  other.header.management_class = wire::infiniband::management_class::kSubnetAdministration;
  arrive(1, fake::packet_with(headers, fake::mad_bytes(other)));
  EXPECT_TRUE(ways_taken().empty());
}

PerformancePacket counters_request(std::uint8_t port) {
  PerformancePacket request;
  request.header.management_class = wire::infiniband::management_class::kPerformance;
  request.header.method = method::kGet;
  request.header.attribute.set(attribute::kPortCounters);
  request.data[1] = std::byte{port};
  return request;
}

TEST_F(SubnetSwitchTest, TellsItsCounters) {
  const PerformancePacket request = counters_request(2);
  DatagramHeaders headers = fake::service_headers(kManagerLid, kOwnLid);
  headers.source_qp = 0x55;
  arrive(1, fake::packet_with(headers, fake::mad_bytes(request)));
  const Packet packet = sent_through(1);
  const auto read = wire::infiniband::read_datagram(packet);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->headers.destination_qp, 0x55u);
  EXPECT_EQ(read->headers.source_qp, 1u);
  EXPECT_EQ(read->headers.partition, 0xFFFF);
  EXPECT_EQ(mad_in<PerformancePacket>(packet).header.status.get(), 0);
}

TEST_F(SubnetSwitchTest, TellsItsCountersToItsPartitionsAlone) {
  ASSERT_TRUE(fake::set_port_keys(at(0), {0x8001}));
  const PerformancePacket request = counters_request(2);
  DatagramHeaders headers = fake::service_headers(kManagerLid, kOwnLid);
  arrive(1, fake::packet_with(headers, fake::mad_bytes(request)));
  EXPECT_TRUE(ways_taken().empty());
  EXPECT_EQ(at(0).info().partition_violations.get(), 1);
  headers.partition = 0x0001;
  arrive(1, fake::packet_with(headers, fake::mad_bytes(request)));
  const auto back = sent_through(1);
  EXPECT_EQ(wire::infiniband::read_datagram(back)->headers.partition, 0x8001);
}

TEST_F(SubnetSwitchTest, WhatIsNoQuestionForItsCountersIsCounted) {
  PerformancePacket request = counters_request(2);
  DatagramHeaders headers = fake::service_headers(kManagerLid, kOwnLid);
  headers.qkey = 5;
  arrive(1, fake::packet_with(headers, fake::mad_bytes(request)));
  headers = fake::service_headers(kManagerLid, kOwnLid);
  headers.destination_qp = 2;
  arrive(1, fake::packet_with(headers, fake::mad_bytes(request)));
  headers.destination_qp = 1;
  request.header.method = method::kGetResponse;
  arrive(1, fake::packet_with(headers, fake::mad_bytes(request)));
  request.header.management_class = wire::infiniband::management_class::kCommunication;
  arrive(1, fake::packet_with(headers, fake::mad_bytes(request)));
  EXPECT_EQ(at(1).totals().receive_errors, 4u);
  EXPECT_TRUE(ways_taken().empty());
}

// ---- Ports that may not manage ----

TEST_F(SubnetSwitchTest, APortThatMayNotManageSetsNothingHereOrBeyond) {
  switch_.let_manage(6, false);
  const Smp wishes[] = {set_of(attribute::kLinearTable, LinearBlock{}),
                        smp_of(method::kSet, attribute::kPortInfo),
                        get_of(attribute::kSmInfo),
                        smp_of(method::kSet, attribute::kSmInfo),
                        smp_of(method::kGetResponse, attribute::kSmInfo),
                        smp_of(method::kTrapRepress, attribute::kNotice)};
  for (const Smp& wish : wishes) {
    arrive(6, smp_packet(departed(wish, {1})));     // to the switch
    arrive(6, smp_packet(departed(wish, {1, 2})));  // on to a node behind it
    arrive(6, smp_packet(wish, kOwnLid, 9));
    arrive(6, smp_packet(wish, kReachedLid, 9));
  }
  EXPECT_TRUE(ways_taken().empty());
  EXPECT_EQ(at(6).totals().management_dropped, 4 * std::size(wishes));
  EXPECT_EQ(switch_.tables().way_to(kReachedLid), 2);
}

TEST_F(SubnetSwitchTest, APortThatMayNotManageMayAskAndAnswer) {
  switch_.let_manage(6, false);
  arrive(6, smp_packet(departed(get_of(attribute::kNodeInfo), {1})));
  EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{6}));
  arrive(6, smp_packet(get_of(attribute::kPortInfo), kReachedLid, 9));
  arrive(6, smp_packet(smp_of(method::kGetResponse, attribute::kPortInfo), kReachedLid, 9));
  arrive(6, smp_packet(smp_of(method::kTrap, attribute::kNotice), kReachedLid, 9));
  EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{2, 2, 2}));
  EXPECT_EQ(at(6).totals().management_dropped, 0u);
}

TEST_F(SubnetSwitchTest, WhatMayManageIsThePortsAndEndsWithItsLink) {
  switch_.let_manage(6, false);
  const Smp set = set_of(attribute::kLaneTable, wire::infiniband::LaneTable{});
  arrive(5, smp_packet(departed(set, {1})));
  EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{5}));
  switch_.let_manage(6, true);
  arrive(6, smp_packet(departed(set, {1})));
  EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{6}));
  switch_.let_manage(6, false);
  switch_.detach(6);
  switch_.attach(6, ends_[6]);
  at(6).link_up(Speed::kQuad);
  arrive(6, smp_packet(departed(set, {1})));
  EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{6}));
}

// ---- Notices ----

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

TEST_F(SubnetSwitchTest, AnOrderForALinkIsPassedOn) {
  wire::infiniband::PortInfo wish = at(3).info();
  wish.speed_supported_state &= 0xF0;
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
