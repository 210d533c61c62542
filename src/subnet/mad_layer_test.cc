#include "subnet/mad_layer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "subnet/mad_layer_test.h"
#include "testing/management_datagrams.h"

namespace paravane::subnet {
namespace {

using namespace std::chrono_literals;
namespace attribute = wire::infiniband::attribute;
namespace mad_status = wire::infiniband::mad_status;
namespace management_class = wire::infiniband::management_class;
namespace method = wire::infiniband::method;
using fake::directed;
using fake::get_of;
using fake::hops_of;
using fake::Smp;
using wire::infiniband::kMadBytes;
using wire::infiniband::PerformancePacket;

// ---- Registration ----

TEST_F(MadLayerTest, AMethodOfAClassHasOneAgent) {
  const AgentId first = registered(wish_for(management_class::kCommunication, {1, 2}));
  EXPECT_EQ(
      layer_.register_agent(wish_for(management_class::kCommunication, {2, 3}), agent_).error(),
      AgentRefusal::kTaken);
  registered(wish_for(management_class::kCommunication, {3, 100}));
  EXPECT_EQ(
      layer_.register_agent(wish_for(management_class::kCommunication, {100}), agent_).error(),
      AgentRefusal::kTaken);
  registered(wish_for(management_class::kDeviceManagement, {1, 2}));
  // One that only asks takes nothing.
  registered(wish_for(management_class::kCommunication));
  registered(wish_for(management_class::kCommunication));
  AgentWish newer = wish_for(management_class::kCommunication, {1, 2});
  newer.class_version = 2;
  registered(newer);
  layer_.unregister(first);
  registered(wish_for(management_class::kCommunication, {1, 2}));
}

TEST_F(MadLayerTest, VendorsAreToldApartWhereTheirClassNamesThem) {
  registered(wish_for(kVendorClass, {1}, 0x0002C9));
  registered(wish_for(kVendorClass, {1}, 0x001405));
  EXPECT_FALSE(layer_.register_agent(wish_for(kVendorClass, {1}, 0x0002C9), agent_).has_value());
  registered(wish_for(management_class::kCommunication, {1}, 0x0002C9));
  EXPECT_FALSE(
      layer_.register_agent(wish_for(management_class::kCommunication, {1}, 0x001405), agent_)
          .has_value());
}

TEST_F(MadLayerTest, AWishForMethodsNeedsAVersion) {
  AgentWish wish = wish_for(management_class::kCommunication, {1});
  wish.class_version = 0;
  EXPECT_EQ(layer_.register_agent(wish, agent_).error(), AgentRefusal::kBadWish);
  wish.methods = {};
  EXPECT_TRUE(layer_.register_agent(wish, agent_).has_value());
}

TEST_F(MadLayerTest, AgentsAreBounded) {
  AgentId last{};
  for (std::size_t i = 0; i < MadPort::kMostAgents; ++i)
    last = registered(wish_for(management_class::kCommunication));
  EXPECT_EQ(layer_.register_agent(wish_for(management_class::kCommunication), agent_).error(),
            AgentRefusal::kNoRoom);
  layer_.unregister(last);
  layer_.unregister(last);
  registered(wish_for(management_class::kCommunication));
}

// ---- Sending ----

TEST_F(MadLayerTest, ARequestGoesOutWithItsAgentsNumber) {
  const AgentId agent = registered(wish_for(management_class::kSubnetAdministration));
  const PerformancePacket mad =
      mad_with(management_class::kSubnetAdministration, method::kGet, 0xAAAA'BBBB'0000'1234);
  ASSERT_TRUE(send(agent, mad, 1s).has_value());
  ASSERT_EQ(outlet_.sent.size(), 1u);
  const SentMads::One& sent = outlet_.sent[0];
  EXPECT_EQ(sent.mad.header.transaction.get(),
            (std::uint64_t{std::to_underlying(agent)} << 32) | 0x1234);
  EXPECT_EQ(sent.mad.data, mad.data);
  EXPECT_EQ(sent.headers.destination, kPeerLid);
  EXPECT_EQ(sent.headers.destination_qp, 1u);
  EXPECT_EQ(sent.headers.source_qp, 1u);
  EXPECT_EQ(sent.headers.qkey, wire::infiniband::kServiceQkey);
  EXPECT_EQ(sent.headers.partition, 0xFFFF);
  EXPECT_EQ(sent.headers.lane, 0);
}

TEST_F(MadLayerTest, AnAnswerGoesOutWithTheTransactionOfItsRequest) {
  const AgentId agent = registered(wish_for(management_class::kSubnetAdministration));
  for (const std::uint8_t answer : {method::kGetResponse, std::uint8_t{0x92}}) {
    ASSERT_TRUE(
        send(agent,
             mad_with(management_class::kSubnetAdministration, answer, 0xAAAA'BBBB'0000'1234), 1s)
            .has_value());
    EXPECT_EQ(outlet_.sent.back().mad.header.transaction.get(), 0xAAAA'BBBB'0000'1234u);
  }
  EXPECT_EQ(layer_.next_deadline(), kNever);  // it has no answer of its own
}

TEST_F(MadLayerTest, WhatCannotBeSentIsRefused) {
  const AgentId agent = registered(wish_for(management_class::kSubnetAdministration));
  const PerformancePacket mad = mad_with(management_class::kSubnetAdministration, method::kGet);
  EXPECT_EQ(send(AgentId{99}, mad).error(), SendRefusal::kNoAgent);
  EXPECT_EQ(send(AgentId::kNone, mad).error(), SendRefusal::kNoAgent);
  EXPECT_EQ(send(agent, mad_with(management_class::kCommunication, method::kGet)).error(),
            SendRefusal::kBadClass);
  EXPECT_EQ(send(agent, get_of(attribute::kNodeInfo)).error(), SendRefusal::kBadClass);
  const std::vector<std::byte> bytes(kMadBytes + 1, std::byte{3});
  const auto with_length = [&](std::size_t length) {
    std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<long>(length));
    return layer_.send(agent, {.lid = kPeerLid, .qp = 1}, cut, {}, 0, clock_.now);
  };
  EXPECT_EQ(with_length(0).error(), SendRefusal::kLength);
  EXPECT_EQ(with_length(23).error(), SendRefusal::kLength);
  EXPECT_EQ(with_length(kMadBytes + 1).error(), SendRefusal::kLength);
  EXPECT_TRUE(outlet_.sent.empty());
  EXPECT_TRUE(with_length(40).has_value());  // filled up
  EXPECT_EQ(outlet_.sent.size(), 1u);
}

TEST_F(MadLayerTest, AnAgentOfEitherClassOfSubnetManagementSendsBoth) {
  for (const std::uint8_t one :
       {management_class::kSubnetByLid, management_class::kSubnetByRoute}) {
    const AgentId agent = registered(wish_for(one));
    outlet_.sent.clear();
    ASSERT_TRUE(send(agent, get_of(attribute::kNodeInfo)).has_value());
    ASSERT_TRUE(send(agent, directed(get_of(attribute::kNodeInfo), {1, 2})).has_value());
    ASSERT_EQ(outlet_.sent.size(), 2u);
    EXPECT_EQ(outlet_.sent[0].headers.destination, kPeerLid);
    EXPECT_EQ(outlet_.sent[0].headers.lane, 15);
    EXPECT_EQ(outlet_.sent[0].headers.destination_qp, 0u);
    EXPECT_EQ(outlet_.sent[1].headers.destination, wire::infiniband::kPermissiveLid);
    EXPECT_EQ(outlet_.sent[1].headers.source, wire::infiniband::kPermissiveLid);
    EXPECT_EQ(outlet_.sent[1].mad.header.class_specific.get(), hops_of(1, 2));
    EXPECT_EQ(send(agent, mad_with(management_class::kPerformance, method::kGet)).error(),
              SendRefusal::kBadClass);
  }
}

TEST_F(MadLayerTest, ARouteThatDoesNotBeginAtThePortGoesNowhere) {
  const AgentId agent = registered(wish_for(management_class::kSubnetByRoute));
  EXPECT_TRUE(send(agent, directed(get_of(attribute::kNodeInfo), {2})).has_value());
  Smp under_way = directed(get_of(attribute::kNodeInfo), {1});
  under_way.header.class_specific.set(hops_of(1, 1));
  EXPECT_TRUE(send(agent, under_way).has_value());
  EXPECT_TRUE(outlet_.sent.empty());
  EXPECT_EQ(port_.totals().management_dropped, 2u);
}

TEST_F(MadLayerTest, ItsOwnNodeAnswersARouteOfNoHops) {
  const AgentId agent = registered(wish_for(management_class::kSubnetByRoute));
  ASSERT_TRUE(send(agent, directed(get_of(attribute::kNodeInfo), {}), 1s).has_value());
  EXPECT_TRUE(outlet_.sent.empty());
  ASSERT_EQ(agent_.heard.size(), 1u);
  EXPECT_EQ(agent_.heard[0].header().method, method::kGetResponse);
  EXPECT_EQ(agent_.heard[0].header().transaction.get() & 0xFFFF'FFFF, 0u);
  EXPECT_EQ(layer_.next_deadline(), kNever);
}

TEST_F(MadLayerTest, AKeyIsThatOfTheIndex) {
  wire::infiniband::PartitionBlock keys;
  keys[0].set(0xFFFF);
  keys[7].set(0x8007);
  ASSERT_TRUE(port_.set_partitions(0, keys));
  const AgentId agent = registered(wish_for(management_class::kCommunication));
  const PerformancePacket mad = mad_with(management_class::kCommunication, method::kSend);
  ASSERT_TRUE(layer_
                  .send(agent, {.lid = kPeerLid, .qp = 1, .partition_index = 7},
                        fake::mad_bytes(mad), {}, 0, clock_.now)
                  .has_value());
  EXPECT_EQ(outlet_.sent.back().headers.partition, 0x8007);
}

TEST_F(MadLayerTest, AnIndexWithoutAKeyIsRefused) {
  wire::infiniband::PartitionBlock keys;
  keys[0].set(0xFFFF);
  keys[2].set(0x8000);  // a member of nothing
  keys[3].set(0x8003);
  ASSERT_TRUE(port_.set_partitions(0, keys));
  const AgentId agent = registered(wish_for(management_class::kCommunication));
  const PerformancePacket mad = mad_with(management_class::kCommunication, method::kGet);
  const auto send_by = [&](std::uint16_t index) {
    const auto sent = layer_.send(agent, {.lid = kPeerLid, .qp = 1, .partition_index = index},
                                  fake::mad_bytes(mad), 1s, 1, clock_.now);
    return sent ? std::nullopt : std::optional(sent.error());
  };
  for (const std::uint16_t index : std::initializer_list<std::uint16_t>{1, 2, 39, 40, 0xFFFF})
    EXPECT_EQ(send_by(index), SendRefusal::kNoPartition);
  EXPECT_TRUE(outlet_.sent.empty());
  EXPECT_EQ(send_by(3), std::nullopt);
  // Nor is it sent again with a key that is gone.
  keys[3].set(0);
  ASSERT_TRUE(port_.set_partitions(0, keys));
  outlet_.sent.clear();
  clock_.now += 1s;
  layer_.on_time(clock_.now);
  EXPECT_TRUE(outlet_.sent.empty());
  EXPECT_EQ(port_.totals().send_constraints, 1u);
}

// ---- The subnet manager ----

TEST_F(MadLayerTest, AManagerAnswersForItself) {
  const AgentId manager =
      registered(wish_for(management_class::kSubnetByLid, {method::kGet, method::kSet}));
  arrive_smp(get_of(attribute::kSmInfo));
  ASSERT_EQ(agent_.heard.size(), 1u);
  EXPECT_EQ(agent_.heard[0].agent, manager);
  EXPECT_EQ(agent_.heard[0].address.lid, kPeerLid);
  EXPECT_TRUE(outlet_.sent.empty());
}

TEST_F(MadLayerTest, WithoutAManagerItsAttributeIsAnsweredWithThat) {
  arrive_smp(get_of(attribute::kSmInfo));
  ASSERT_EQ(outlet_.sent.size(), 1u);
  EXPECT_EQ(outlet_.sent[0].headers.destination, kPeerLid);
  EXPECT_EQ(outlet_.sent[0].mad.header.status.get(), mad_status::kBadAttribute);
  EXPECT_EQ(outlet_.sent[0].mad.header.method, method::kGetResponse);
}

TEST_F(MadLayerTest, WithoutAManagerItsAttributeIsAnsweredAlongTheRouteToo) {
  // From two hops away, as it is on the last link.
  Smp smp = directed(get_of(attribute::kSmInfo), {1, 5});
  smp.header.class_specific.set(hops_of(2, 2));
  smp.return_path[1] = 3;
  arrive_smp(smp);
  ASSERT_EQ(outlet_.sent.size(), 1u);
  const Smp answer = outlet_.sent[0].smp();
  EXPECT_EQ(outlet_.sent[0].headers.destination, wire::infiniband::kPermissiveLid);
  EXPECT_EQ(answer.header.status.get(), mad_status::kBadAttribute | wire::infiniband::kReturning);
  EXPECT_EQ(answer.header.class_specific.get(), hops_of(2, 2));
  // And to a program of its own.
  const AgentId agent = registered(wish_for(management_class::kSubnetByRoute));
  ASSERT_TRUE(send(agent, directed(get_of(attribute::kSmInfo), {}), 1s).has_value());
  ASSERT_EQ(agent_.heard.size(), 1u);
  EXPECT_EQ(agent_.heard[0].header().status.get(),
            mad_status::kBadAttribute | wire::infiniband::kReturning);
}

TEST_F(MadLayerTest, APortHasAManagerWhileAnyRuns) {
  const auto has_one = [this] {
    return (port_.capabilities() & wire::infiniband::capability::kIsManager) != 0;
  };
  layer_.set_manager(true);
  EXPECT_TRUE(has_one());
  EXPECT_EQ(outlet_.manager_changes, 1u);
  layer_.set_manager(true);
  EXPECT_EQ(outlet_.manager_changes, 1u);
  layer_.set_manager(false);
  EXPECT_TRUE(has_one());
  layer_.set_manager(false);
  EXPECT_FALSE(has_one());
  EXPECT_EQ(outlet_.manager_changes, 2u);
}

}  // namespace
}  // namespace paravane::subnet
