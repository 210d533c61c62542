#include "subnet/subnet_agent.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "subnet/subnet_agent_test.h"
#include "testing/management_datagrams.h"
#include "testing/port_orders.h"

namespace paravane::subnet {
namespace {

namespace attribute = wire::infiniband::attribute;
namespace mad_status = wire::infiniband::mad_status;
namespace method = wire::infiniband::method;
using fake::attribute_in;
using fake::BareNode;
using fake::get_of;
using fake::set_of;
using fake::Smp;
using fake::smp_of;
using fake::status_of;
using wire::infiniband::NodeType;
using wire::infiniband::PortInfo;
using wire::infiniband::PortState;

// ---- Which requests are its own ----

TEST_F(SubnetAgentTest, AnswersGetAndSetOfAllButTheManagersAttribute) {
  EXPECT_TRUE(SubnetAgent::answers(get_of(attribute::kNodeInfo)));
  EXPECT_TRUE(SubnetAgent::answers(smp_of(method::kSet, attribute::kPortInfo)));
  EXPECT_TRUE(SubnetAgent::answers(get_of(0x7777)));
  EXPECT_FALSE(SubnetAgent::answers(get_of(attribute::kSmInfo)));
  EXPECT_FALSE(SubnetAgent::answers(smp_of(method::kSet, attribute::kSmInfo)));
  for (const std::uint8_t other : {method::kSend, method::kTrap, method::kTrapRepress,
                                   method::kGetResponse, std::uint8_t{0}, std::uint8_t{0x82}})
    EXPECT_FALSE(SubnetAgent::answers(smp_of(other, attribute::kNodeInfo)));
}

TEST_F(SubnetAgentTest, AnAnswerIsTheRequestWithAnotherMethod) {
  Smp request = get_of(attribute::kNodeInfo, 9);
  request.header.transaction.set(0x1122334455667788);
  request.header.class_specific.set(0x0305);
  request.management_key.set(5);
  request.source.set(3);
  request.destination.set(4);
  request.initial_path[3] = 7;
  request.return_path[3] = 8;
  const Smp answer = adapter_.answer(request);
  EXPECT_EQ(answer.header.method, method::kGetResponse);
  EXPECT_EQ(answer.header.transaction, request.header.transaction);
  EXPECT_EQ(answer.header.class_specific, request.header.class_specific);
  EXPECT_EQ(answer.header.modifier.get(), 9u);
  EXPECT_EQ(answer.source, request.source);
  EXPECT_EQ(answer.destination, request.destination);
  EXPECT_EQ(answer.initial_path, request.initial_path);
  EXPECT_EQ(answer.return_path, request.return_path);
}

TEST_F(SubnetAgentTest, AStatusInTheRequestIsNotTheAnswers) {
  Smp request = get_of(attribute::kNodeInfo);
  request.header.status.set(0x7FFF);
  EXPECT_EQ(adapter_.answer(request).header.status.get(), 0);
}

TEST_F(SubnetAgentTest, OtherVersionsAreRefused) {
  for (const bool is_base : {true, false}) {
    for (const std::uint8_t version : std::initializer_list<std::uint8_t>{0, 2, 255}) {
      Smp request = set_of(attribute::kPortInfo, fake::wish_at(*adapter_.node.port(1)));
      (is_base ? request.header.base_version : request.header.class_version) = version;
      EXPECT_EQ(adapter_.status(request), mad_status::kBadVersion);
    }
  }
  EXPECT_TRUE(adapter_.node.changes.empty());
}

TEST_F(SubnetAgentTest, UnknownAttributesAreRefused) {
  for (const std::uint16_t unknown :
       {std::uint16_t{0}, attribute::kClassPortInfo, attribute::kNotice, std::uint16_t{0x001A},
        std::uint16_t{0x0030}, std::uint16_t{0xFF10}}) {
    EXPECT_EQ(adapter_.status(get_of(unknown)), mad_status::kBadAttribute);
    EXPECT_EQ(switch_.status(smp_of(method::kSet, unknown)), mad_status::kBadAttribute);
  }
}

// ---- NodeDescription, NodeInfo, GUIDInfo ----

TEST_F(SubnetAgentTest, TellsItsDescription) {
  const Smp answer = adapter_.answer(get_of(attribute::kNodeDescription));
  EXPECT_EQ(status_of(answer), 0);
  EXPECT_STREQ((attribute_in<std::array<char, 64>>(answer).data()), "bare node");
}

TEST_F(SubnetAgentTest, ALongDescriptionIsCut) {
  BareNode node(NodeType::kChannelAdapter, 1, std::string(200, 'x'));
  SubnetAgent agent(node);
  const auto answer = agent.answer(get_of(attribute::kNodeDescription), 1);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(std::string((attribute_in<std::array<char, 64>>(*answer).data())),
            std::string(63, 'x'));
}

TEST_F(SubnetAgentTest, TellsWhatNodeItIs) {
  const auto info =
      attribute_in<wire::infiniband::NodeInfo>(adapter_.answer(get_of(attribute::kNodeInfo), 2));
  EXPECT_EQ(info.base_version, 1);
  EXPECT_EQ(info.class_version, 1);
  EXPECT_EQ(info.type, NodeType::kChannelAdapter);
  EXPECT_EQ(info.ports, 2);
  EXPECT_EQ(info.node_guid.get(), BareNode::kGuid);
  EXPECT_EQ(info.system_guid.get(), BareNode::kGuid + 0xF0);
  EXPECT_EQ(info.port_guid.get(), BareNode::kGuid + 2);
  EXPECT_EQ(info.partitions.get(), BareNode::kPartitions);
  EXPECT_EQ(info.device.get(), 0x673C);
  EXPECT_EQ(info.revision.get(), 0xB0u);
  EXPECT_EQ(info.local_port, 2);
}

TEST_F(SubnetAgentTest, ASwitchTellsTheGuidOfItsOwnPort) {
  const auto info =
      attribute_in<wire::infiniband::NodeInfo>(switch_.answer(get_of(attribute::kNodeInfo), 17));
  EXPECT_EQ(info.type, NodeType::kSwitch);
  EXPECT_EQ(info.ports, 36);
  EXPECT_EQ(info.port_guid.get(), BareNode::kGuid);
  EXPECT_EQ(info.local_port, 17);
}

TEST_F(SubnetAgentTest, TellsTheGuidsOfAPort) {
  const auto guids =
      attribute_in<wire::infiniband::GuidBlock>(adapter_.answer(get_of(attribute::kGuidInfo), 2));
  EXPECT_EQ(guids[0].get(), BareNode::kGuid + 2);
  EXPECT_EQ(guids[1].get(), 0u);
  EXPECT_EQ(
      attribute_in<wire::infiniband::GuidBlock>(switch_.answer(get_of(attribute::kGuidInfo), 5))[0]
          .get(),
      BareNode::kGuid);
  EXPECT_EQ(adapter_.status(get_of(attribute::kGuidInfo, 1)), mad_status::kBadField);
}

TEST_F(SubnetAgentTest, WhatIsReadOnlyCannotBeSet) {
  for (const std::uint16_t one :
       {attribute::kNodeDescription, attribute::kNodeInfo, attribute::kGuidInfo}) {
    EXPECT_EQ(adapter_.status(smp_of(method::kSet, one)), mad_status::kBadAttribute);
    EXPECT_EQ(switch_.status(smp_of(method::kSet, one)), mad_status::kBadAttribute);
  }
}

// ---- PortInfo ----

TEST_F(SubnetAgentTest, ZeroIsThePortOfAnAdapterThatWasAsked) {
  adapter_.set_key(0, 0, 2);
  PortInfo wish = fake::wish_at(*adapter_.node.port(2));
  wish.lid.set(22);
  EXPECT_EQ(adapter_.status(set_of(attribute::kPortInfo, wish), 2), 0);
  EXPECT_EQ(adapter_.node.port(2)->lid(), 22);
  EXPECT_EQ(adapter_.node.port(1)->lid(), 0);
  const Smp answer = adapter_.answer(get_of(attribute::kPortInfo), 2);
  EXPECT_EQ(attribute_in<PortInfo>(answer).lid.get(), 22);
  EXPECT_EQ(attribute_in<PortInfo>(answer).local_port, 2);
}

TEST_F(SubnetAgentTest, AnAdaptersOtherPortIsReadButNotSet) {
  PortInfo wish = fake::wish_at(*adapter_.node.port(2));
  wish.lid.set(22);
  EXPECT_EQ(adapter_.status(set_of(attribute::kPortInfo, wish, 2), 1), mad_status::kBadField);
  EXPECT_EQ(adapter_.node.port(2)->lid(), 0);
  EXPECT_EQ(adapter_.status(get_of(attribute::kPortInfo, 2), 1), 0);
}

TEST_F(SubnetAgentTest, ASwitchsPortsAreSetThroughAnyOfThem) {
  switch_.node.port(9)->link_up(Speed::kQuad);
  PortInfo wish = fake::wish_at(*switch_.node.port(9));
  wish.speed_supported_state |= static_cast<std::uint8_t>(PortState::kArmed);
  const Smp answer = switch_.answer(set_of(attribute::kPortInfo, wish, 9), 3);
  EXPECT_EQ(status_of(answer), 0);
  EXPECT_EQ(switch_.node.port(9)->state(), PortState::kArmed);
  EXPECT_EQ(attribute_in<PortInfo>(answer).speed_supported_state & 0x0F, 3);
  wish = fake::wish_at(*switch_.node.port(0));
  wish.lid.set(6);
  EXPECT_EQ(switch_.status(set_of(attribute::kPortInfo, wish), 3), 0);
  EXPECT_EQ(switch_.node.port(0)->lid(), 6);
}

TEST_F(SubnetAgentTest, APortThatIsNotThereIsRefused) {
  for (const std::uint32_t port : {3U, 37U, 255U}) {
    EXPECT_EQ(adapter_.status(get_of(attribute::kPortInfo, port)), mad_status::kBadField);
  }
  for (const std::uint32_t port : {37U, 255U})
    EXPECT_EQ(switch_.status(get_of(attribute::kPortInfo, port)), mad_status::kBadField);
}

TEST_F(SubnetAgentTest, AWishThatCannotBeIsAnsweredWithWhatIs) {
  PortInfo wish = fake::wish_at(*adapter_.node.port(1));
  wish.lid.set(0xFFFF);
  const Smp answer = adapter_.answer(set_of(attribute::kPortInfo, wish));
  EXPECT_EQ(status_of(answer), mad_status::kBadField);
  EXPECT_EQ(attribute_in<PortInfo>(answer).lid.get(), 0);
}

// ---- Partitions ----

TEST_F(SubnetAgentTest, PartitionsOfAnAdapter) {
  wire::infiniband::PartitionBlock keys;
  keys[0].set(0x8001);
  EXPECT_EQ(adapter_.status(set_of(attribute::kPartitionTable, keys, 1), 2), 0);
  EXPECT_EQ(adapter_.node.port(2)->partition(32), 0x8001);
  EXPECT_EQ(adapter_.node.port(1)->partition(32), 0);
  const Smp read = adapter_.answer(get_of(attribute::kPartitionTable, 1), 2);
  EXPECT_EQ(attribute_in<wire::infiniband::PartitionBlock>(read), keys);
  // The upper half names a switch's port, and nothing here.
  EXPECT_EQ(adapter_.status(get_of(attribute::kPartitionTable, 0x9'0001), 2), 0);
  EXPECT_EQ(adapter_.status(get_of(attribute::kPartitionTable, 2)), mad_status::kBadField);
  EXPECT_EQ(adapter_.status(set_of(attribute::kPartitionTable, keys, 0xFFFF)),
            mad_status::kBadField);
}

TEST_F(SubnetAgentTest, PartitionsOfASwitchsPorts) {
  wire::infiniband::PartitionBlock keys;
  keys[31].set(0x8001);
  EXPECT_EQ(switch_.status(set_of(attribute::kPartitionTable, keys, 36U << 16)), 0);
  EXPECT_EQ(switch_.node.port(36)->partition(31), 0x8001);
  EXPECT_EQ(switch_.status(set_of(attribute::kPartitionTable, keys, 0)), 0);
  EXPECT_EQ(switch_.node.port(0)->partition(31), 0x8001);
  EXPECT_EQ(switch_.status(get_of(attribute::kPartitionTable, 37U << 16)), mad_status::kBadField);
  EXPECT_EQ(switch_.status(get_of(attribute::kPartitionTable, 0xFFFFU << 16)),
            mad_status::kBadField);
  EXPECT_EQ(switch_.status(get_of(attribute::kPartitionTable, (1U << 16) | 2)),
            mad_status::kBadField);
}

// ---- Lanes ----

TEST_F(SubnetAgentTest, AllLevelsAreOnTheOnlyLane) {
  for (Agent* one : {&adapter_, &switch_}) {
    EXPECT_EQ(attribute_in<wire::infiniband::LaneTable>(one->answer(get_of(attribute::kLaneTable))),
              wire::infiniband::LaneTable{});
    EXPECT_EQ(one->status(set_of(attribute::kLaneTable, wire::infiniband::LaneTable{})), 0);
    wire::infiniband::LaneTable other{};
    other[3] = 0x10;
    EXPECT_EQ(one->status(set_of(attribute::kLaneTable, other)), mad_status::kBadField);
    EXPECT_EQ(one->status(get_of(attribute::kLaneArbitration, 1U << 16)), 0);
    EXPECT_EQ(one->status(smp_of(method::kSet, attribute::kLaneArbitration)),
              mad_status::kBadField);
  }
}

// ---- Tables of a switch ----

TEST_F(SubnetAgentTest, AnAdapterHasNoTables) {
  for (const std::uint16_t one :
       {attribute::kSwitchInfo, attribute::kLinearTable, attribute::kMulticastTable}) {
    EXPECT_EQ(adapter_.status(get_of(one)), mad_status::kBadAttribute);
    EXPECT_EQ(adapter_.status(smp_of(method::kSet, one)), mad_status::kBadAttribute);
  }
}

TEST_F(SubnetAgentTest, SwitchInfoIsReadAndSet) {
  auto info =
      attribute_in<wire::infiniband::SwitchInfo>(switch_.answer(get_of(attribute::kSwitchInfo)));
  EXPECT_EQ(info.linear_entries.get(), 0xC000);
  info.linear_top.set(99);
  EXPECT_EQ(switch_.status(set_of(attribute::kSwitchInfo, info)), 0);
  EXPECT_EQ(switch_.node.forwarding()->info().linear_top.get(), 99);
  info.linear_top.set(0xC000);
  EXPECT_EQ(switch_.status(set_of(attribute::kSwitchInfo, info)), mad_status::kBadField);
}

TEST_F(SubnetAgentTest, LinearTablesAreReadAndSet) {
  wire::infiniband::LinearBlock block{};
  block[1] = 5;
  EXPECT_EQ(switch_.status(set_of(attribute::kLinearTable, block, 3)), 0);
  EXPECT_EQ(attribute_in<wire::infiniband::LinearBlock>(
                switch_.answer(get_of(attribute::kLinearTable, 3))),
            block);
  for (const std::uint32_t beyond : {0x300U, 0xFFFFU, 0xFFFF'FFFFU}) {
    EXPECT_EQ(switch_.status(get_of(attribute::kLinearTable, beyond)), mad_status::kBadField);
    EXPECT_EQ(switch_.status(set_of(attribute::kLinearTable, block, beyond)),
              mad_status::kBadField);
  }
}

TEST_F(SubnetAgentTest, MulticastTablesAreReadAndSet) {
  wire::infiniband::MulticastBlock block;
  block[4].set(0x0010);
  const std::uint32_t second = (1U << 28) | 2;  // position 1, block 2
  EXPECT_EQ(switch_.status(set_of(attribute::kMulticastTable, block, second)), 0);
  EXPECT_EQ(attribute_in<wire::infiniband::MulticastBlock>(
                switch_.answer(get_of(attribute::kMulticastTable, second))),
            block);
  EXPECT_EQ(switch_.node.forwarding()->ways_to(0xC000 + 2 * 32 + 4)[0], std::uint64_t{1} << 20);
  for (const std::uint32_t beyond : {32U, 0x1FFU, 3U << 28, 15U << 28}) {
    EXPECT_EQ(switch_.status(get_of(attribute::kMulticastTable, beyond)), mad_status::kBadField);
    EXPECT_EQ(switch_.status(set_of(attribute::kMulticastTable, block, beyond)),
              mad_status::kBadField);
  }
}

}  // namespace
}  // namespace paravane::subnet
