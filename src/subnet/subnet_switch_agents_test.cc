// Management of SubnetSwitch: what its own agents answer and send on, and what a port may have
// done.

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "subnet/subnet_switch_test.h"
#include "testing/management_datagrams.h"
#include "testing/port_orders.h"

namespace paravane::subnet {
namespace {

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
using wire::infiniband::DatagramHeaders;
using wire::infiniband::LinearBlock;
using wire::infiniband::PerformancePacket;

// ---- Its agent of subnet management ----

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

TEST_F(SubnetSwitchTest, ManagementIsNotForMany) {
  set_group(0b0110);
  arrive(3, smp_packet(get_of(attribute::kNodeInfo), kGroupLid, kManagerLid));
  EXPECT_TRUE(ways_taken().empty());
  EXPECT_EQ(at(3).totals().management_dropped, 1u);
}

// ---- Its counters ----

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

// ---- Ports that may not manage ----

TEST_F(SubnetSwitchTest, APortThatMayNotManageSetsNothingHereOrBeyond) {
  switch_.let_manage(6, false);
  const Smp wishes[] = {
      set_of(attribute::kLinearTable, LinearBlock{}), smp_of(method::kSet, attribute::kPortInfo),
      smp_of(method::kSet, attribute::kSmInfo), smp_of(method::kGetResponse, attribute::kSmInfo),
      smp_of(method::kTrapRepress, attribute::kNotice)};
  for (const Smp& wish : wishes) {
    arrive(6, smp_packet(departed(wish, {1})));     // to the switch
    arrive(6, smp_packet(departed(wish, {1, 2})));  // on to a node behind it
    arrive(6, smp_packet(wish, kOwnLid, 9));
    arrive(6, smp_packet(wish, kReachedLid, 9));
  }
  EXPECT_TRUE(ways_taken().empty());
  EXPECT_EQ(at(6).totals().management_dropped, 4 * std::size(wishes));
  EXPECT_TRUE(switch_.refuses_manager(6));
  clock_.now += SubnetSwitch::kRefusalCounts;
  EXPECT_FALSE(switch_.refuses_manager(6)) << "it may have ended";
  EXPECT_EQ(switch_.tables().way_to(kReachedLid), 2);
}

TEST_F(SubnetSwitchTest, APortThatMayNotManageMayAskAndAnswer) {
  switch_.let_manage(6, false);
  arrive(6, smp_packet(departed(get_of(attribute::kNodeInfo), {1})));
  EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{6}));
  arrive(6, smp_packet(get_of(attribute::kPortInfo), kReachedLid, 9));
  arrive(6, smp_packet(get_of(attribute::kSmInfo), kReachedLid, 9));
  arrive(6, smp_packet(smp_of(method::kGetResponse, attribute::kPortInfo), kReachedLid, 9));
  arrive(6, smp_packet(smp_of(method::kTrap, attribute::kNotice), kReachedLid, 9));
  EXPECT_EQ(ways_taken(), (std::vector<PortNumber>{2, 2, 2, 2}));
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

}  // namespace
}  // namespace paravane::subnet
