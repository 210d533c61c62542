// The management key as SubnetAgent asks for it (14.2.4).

#include <gtest/gtest.h>

#include <cstdint>

#include "subnet/subnet_agent_test.h"
#include "testing/management_datagrams.h"
#include "testing/port_orders.h"

namespace paravane::subnet {
namespace {

namespace attribute = wire::infiniband::attribute;
namespace method = wire::infiniband::method;
using fake::attribute_in;
using fake::get_of;
using fake::set_of;
using fake::Smp;
using fake::smp_of;
using fake::status_of;
using wire::infiniband::PortInfo;

constexpr std::uint64_t kKey = 0x1234'5678'9ABC'DEF0;

struct KeyCase {
  unsigned protection;
  bool may_read;
  bool sees_key;
};

TEST_F(SubnetAgentTest, TheKeyGuardsByItsProtection) {
  for (const KeyCase& one : {KeyCase{0, true, true}, KeyCase{1, true, false},
                             KeyCase{2, false, false}, KeyCase{3, false, false}}) {
    for (Agent* agent : {&adapter_, &switch_}) {
      const PortNumber guard = agent == &switch_ ? 0 : 1;
      agent->set_key(kKey, one.protection, guard);
      for (const std::uint64_t wrong : {std::uint64_t{0}, kKey + 1}) {
        Smp get = get_of(attribute::kPortInfo);
        get.management_key.set(wrong);
        const auto answer = agent->agent.answer(get, 1);
        ASSERT_EQ(answer.has_value(), one.may_read) << one.protection;
        if (answer) {
          EXPECT_EQ(status_of(*answer), 0);
          EXPECT_EQ(attribute_in<PortInfo>(*answer).management_key.get(), one.sees_key ? kKey : 0);
        }
      }
      Smp right = get_of(attribute::kPortInfo);
      right.management_key.set(kKey);
      EXPECT_EQ(attribute_in<PortInfo>(agent->answer(right)).management_key.get(), kKey);
    }
  }
}

TEST_F(SubnetAgentTest, ASetWithoutTheKeyIsNeitherDoneNorAnswered) {
  for (unsigned protection = 0; protection < 4; ++protection) {
    adapter_.set_key(kKey, protection, 1);
    PortInfo wish = fake::wish_at(*adapter_.node.port(1));
    wish.lid.set(static_cast<std::uint16_t>(0x60 + protection));
    Smp set = set_of(attribute::kPortInfo, wish);
    const std::uint16_t violations = adapter_.node.port(1)->info().key_violations.get();
    EXPECT_FALSE(adapter_.agent.answer(set, 1).has_value());
    set.management_key.set(kKey ^ 1);
    EXPECT_FALSE(adapter_.agent.answer(set, 1).has_value());
    EXPECT_NE(adapter_.node.port(1)->lid(), 0x60 + protection);
    EXPECT_EQ(adapter_.node.port(1)->info().key_violations.get(), violations + 2);
    set.management_key.set(kKey);
    EXPECT_EQ(adapter_.status(set), 0);
    EXPECT_EQ(adapter_.node.port(1)->lid(), 0x60 + protection);
    adapter_.set_key(0, 0, 1);
  }
}

TEST_F(SubnetAgentTest, EverySetOfASwitchIsGuardedByItsOwnPort) {
  switch_.set_key(kKey, 0, 0);
  const Smp wishes[] = {
      set_of(attribute::kSwitchInfo, switch_.node.forwarding()->info()),
      set_of(attribute::kPortInfo, fake::wish_at(*switch_.node.port(3)), 3),
      set_of(attribute::kPartitionTable, wire::infiniband::PartitionBlock{}, 3U << 16),
      set_of(attribute::kLaneTable, wire::infiniband::LaneTable{}),
      smp_of(method::kSet, attribute::kLaneArbitration),
      set_of(attribute::kLinearTable, wire::infiniband::LinearBlock{}),
      set_of(attribute::kMulticastTable, wire::infiniband::MulticastBlock{}),
      smp_of(method::kSet, 0x7777)};
  for (Smp wish : wishes) {
    EXPECT_FALSE(switch_.agent.answer(wish, 3).has_value()) << wish.header.attribute.get();
    wish.management_key.set(kKey);
    EXPECT_TRUE(switch_.agent.answer(wish, 3).has_value());
  }
}

TEST_F(SubnetAgentTest, AnAdaptersPortsHaveKeysOfTheirOwn) {
  adapter_.set_key(kKey, 3, 1);
  EXPECT_FALSE(adapter_.agent.answer(get_of(attribute::kNodeInfo), 1).has_value());
  EXPECT_TRUE(adapter_.agent.answer(get_of(attribute::kNodeInfo), 2).has_value());
}

// What reaches one port learns no more of the other than the other itself would tell.
TEST_F(SubnetAgentTest, ThroughOnePortTheKeyOfTheOtherIsNotSeen) {
  adapter_.set_key(kKey, 1, 1);
  const Smp hidden = adapter_.answer(get_of(attribute::kPortInfo, 1), 2);
  EXPECT_EQ(attribute_in<PortInfo>(hidden).management_key.get(), 0u);
  adapter_.set_key(0, 0, 1);
  adapter_.set_key(kKey, 2, 1);
  EXPECT_FALSE(adapter_.agent.answer(get_of(attribute::kPortInfo, 1), 2).has_value());
}

TEST_F(SubnetAgentTest, WithoutAKeyAllIsOpenWhateverTheProtection) {
  adapter_.set_key(0, 3, 1);
  Smp get = get_of(attribute::kPortInfo);
  get.management_key.set(99);
  EXPECT_EQ(adapter_.status(get), 0);
}

}  // namespace
}  // namespace paravane::subnet
