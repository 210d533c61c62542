// What others ask a port: the agents that hear it, and what is answered or dropped before.

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "subnet/mad_layer_test.h"
#include "testing/management_datagrams.h"

namespace paravane::subnet {
namespace {

namespace attribute = wire::infiniband::attribute;
namespace mad_status = wire::infiniband::mad_status;
namespace management_class = wire::infiniband::management_class;
namespace method = wire::infiniband::method;
using fake::get_of;
using fake::Smp;
using fake::smp_of;
using wire::infiniband::DatagramHeaders;
using wire::infiniband::kMadBytes;
using wire::infiniband::PerformancePacket;

// ---- Requests of others ----

TEST_F(MadLayerTest, ARequestReachesTheAgentThatWantsIt) {
  const AgentId getter = registered(wish_for(management_class::kCommunication, {method::kGet}));
  const AgentId sender = registered(wish_for(management_class::kCommunication, {method::kSend}));
  arrive(mad_with(management_class::kCommunication, method::kSend, 0xFFFF'FFFF'0000'0001));
  arrive(mad_with(management_class::kCommunication, method::kGet, 2));
  ASSERT_EQ(agent_.heard.size(), 2u);
  EXPECT_EQ(agent_.heard[0].agent, sender);
  EXPECT_EQ(agent_.heard[0].header().transaction.get(), 0xFFFF'FFFF'0000'0001u);
  EXPECT_EQ(agent_.heard[1].agent, getter);
  EXPECT_TRUE(outlet_.sent.empty());
}

TEST_F(MadLayerTest, ARequestOfAnotherVersionOrVendorIsNotWanted) {
  registered(wish_for(kVendorClass, {method::kGet}, 0x0002C9));
  PerformancePacket mad = mad_with(kVendorClass, method::kGet);
  const auto with_oui = [&mad](std::uint32_t oui) {
    wire::infiniband::put_part(std::as_writable_bytes(std::span(&mad, 1)).first<kMadBytes>(), 37,
                               Be24(oui));
    return mad;
  };
  arrive(with_oui(0x0002CA));
  EXPECT_TRUE(agent_.heard.empty());
  arrive(with_oui(0x0002C9));
  EXPECT_EQ(agent_.heard.size(), 1u);
  mad.header.class_version = 2;
  arrive(mad);
  EXPECT_EQ(agent_.heard.size(), 1u);
}

TEST_F(MadLayerTest, ARequestThatHasNoReceiverIsAnsweredWithThat) {
  for (const std::uint8_t a_method : {method::kGet, method::kSet}) {
    arrive(mad_with(management_class::kDeviceManagement, a_method, 0x5566));
    ASSERT_EQ(outlet_.sent.size(), 1u);
    const SentMads::One sent = outlet_.sent[0];
    EXPECT_EQ(sent.mad.header.method, method::kGetResponse);
    EXPECT_EQ(sent.mad.header.status.get(), mad_status::kBadAttribute);
    EXPECT_EQ(sent.mad.header.transaction.get(), 0x5566u);
    EXPECT_EQ(sent.headers.destination, kPeerLid);
    EXPECT_EQ(sent.headers.destination_qp, 1u);
    outlet_.sent.clear();
  }
  for (const std::uint8_t other :
       {method::kSend, method::kTrap, method::kReport, method::kGetTable})
    arrive(mad_with(management_class::kDeviceManagement, other));
  EXPECT_TRUE(outlet_.sent.empty());
}

TEST_F(MadLayerTest, AnAnswerOfItsOwnGoesBackTheWayTheRequestCame) {
  wire::infiniband::PartitionBlock keys;
  keys[0].set(0xFFFF);
  keys[5].set(0x8009);
  ASSERT_TRUE(port_.set_partitions(0, keys));
  DatagramHeaders headers = from_peer();
  headers.partition = 0x0009;  // a limited member
  headers.service_level = 3;
  headers.source_qp = 0x77;
  headers.global = wire::infiniband::GlobalRoute{
      .source = {0xFE, 0x80, 1}, .destination = {0xFE, 0x80, 2}, .hop_limit = 9};
  for (const std::uint8_t a_class :
       {management_class::kDeviceManagement, management_class::kPerformance}) {
    outlet_.sent.clear();
    arrive(mad_with(a_class, method::kGet), headers);
    ASSERT_EQ(outlet_.sent.size(), 1u);
    const DatagramHeaders& back = outlet_.sent[0].headers;
    EXPECT_EQ(back.destination, kPeerLid);
    EXPECT_EQ(back.destination_qp, 0x77u);
    EXPECT_EQ(back.partition, 0x8009);
    EXPECT_EQ(back.service_level, 3);
    ASSERT_TRUE(back.global.has_value());
    EXPECT_EQ(back.global->destination, headers.global->source);
    EXPECT_EQ(back.global->source,
              wire::infiniband::Gid{});  // the port's own, which the outlet knows
  }
}

TEST_F(MadLayerTest, AnAgentIsToldTheIndexOfTheKey) {
  wire::infiniband::PartitionBlock keys;
  keys[0].set(0xFFFF);
  keys[5].set(0x8009);
  ASSERT_TRUE(port_.set_partitions(0, keys));
  registered(wish_for(management_class::kCommunication, {method::kSend}));
  DatagramHeaders headers = from_peer();
  headers.partition = 0x8009;
  arrive(mad_with(management_class::kCommunication, method::kSend), headers);
  ASSERT_EQ(agent_.heard.size(), 1u);
  EXPECT_EQ(agent_.heard[0].address.partition_index, 5);
}

TEST_F(MadLayerTest, CountersAreAnsweredBeforeAnyAgent) {
  registered(wish_for(management_class::kPerformance, {method::kGet, method::kSend}));
  PerformancePacket request = mad_with(management_class::kPerformance, method::kGet, 4);
  request.header.attribute.set(attribute::kPortCounters);
  request.data[1] = std::byte{1};
  arrive(request);
  EXPECT_TRUE(agent_.heard.empty());
  ASSERT_EQ(outlet_.sent.size(), 1u);
  EXPECT_EQ(outlet_.sent[0].mad.header.status.get(), 0);
  EXPECT_EQ(outlet_.sent[0].mad.header.transaction.get(), 4u);
}

// ---- Which queue pair ----

TEST_F(MadLayerTest, SubnetManagementComesThroughQueuePair0Alone) {
  registered(wish_for(management_class::kSubnetByLid, {method::kGet, method::kSet, method::kTrap}));
  arrive(get_of(attribute::kNodeInfo));
  arrive(fake::departed(get_of(attribute::kNodeInfo), {}));
  arrive(smp_of(method::kTrap, attribute::kNotice));
  EXPECT_TRUE(outlet_.sent.empty());
  EXPECT_TRUE(agent_.heard.empty());
  arrive_smp(get_of(attribute::kNodeInfo));
  EXPECT_EQ(outlet_.sent.size(), 1u);
  arrive_smp(smp_of(method::kTrap, attribute::kNotice));
  EXPECT_EQ(agent_.heard.size(), 1u);
}

TEST_F(MadLayerTest, OtherClassesDoNotComeThroughQueuePair0) {
  registered(wish_for(management_class::kCommunication, {method::kSend}));
  arrive_smp(std::bit_cast<Smp>(mad_with(management_class::kCommunication, method::kSend)));
  EXPECT_TRUE(agent_.heard.empty());
}

TEST_F(MadLayerTest, WhatIsNotAMadInSizeIsDropped) {
  registered(wish_for(management_class::kCommunication, {method::kSend}));
  const PerformancePacket mad = mad_with(management_class::kCommunication, method::kSend);
  const Smp smp = get_of(attribute::kNodeInfo);
  for (const std::size_t size : {0U, 24U, 255U}) {
    layer_.on_service_packet({.headers = from_peer(), .payload = fake::mad_bytes(mad).first(size)});
    layer_.on_subnet_packet({.headers = from_peer(), .payload = fake::mad_bytes(smp).first(size)});
  }
  const std::vector<std::byte> longer(257);
  layer_.on_service_packet({.headers = from_peer(), .payload = longer});
  layer_.on_subnet_packet({.headers = from_peer(), .payload = longer});
  EXPECT_TRUE(agent_.heard.empty());
  EXPECT_TRUE(outlet_.sent.empty());
}

}  // namespace
}  // namespace paravane::subnet
