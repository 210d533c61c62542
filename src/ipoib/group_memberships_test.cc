#include "ipoib/group_memberships.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <vector>

#include "ipoib/confirmation.h"
#include "testing/subnet_administration.h"
#include "testing/subnet_rig.h"
#include "wire/infiniband/attribute.h"

namespace paravane::ipoib {
namespace {

namespace attribute = wire::infiniband::attribute;
namespace method = wire::infiniband::method;
using fake::SubnetAdministration;
using fake::SubnetRig;
using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::infiniband::AdministrationStatus;
using wire::infiniband::Gid;

constexpr std::uint64_t kGroupsPort = SubnetRig::kSecondGuid + 1;
constexpr std::uint16_t kGroupsKey = 0x800A;

class NoReceiver final : public subnet::DatagramReceiver {
  void on_datagram(std::uint32_t /*queue_pair*/,
                   const wire::infiniband::Datagram& /*packet*/) override {}
};

VlanGroup numbered(std::size_t number, std::uint16_t vlan = 0) {
  const wire::infiniband::Ipv4Address group{239, 0, static_cast<std::uint8_t>(number >> 8),
                                            static_cast<std::uint8_t>(number)};
  return {.vlan = vlan, .name = name_of(group)};
}
const VlanGroup kNumberOne = numbered(1);
Gid gid_of_one() {
  return gid_of(kNumberOne.name, kGroupsKey);
}

class GroupMembershipsTest : public testing::Test {
 protected:
  GroupMembershipsTest() {
    groups_.emplace(rig_.second, subnet::PortNumber{1}, client_, rig_.clock);
  }

  subnet::QueuePairs& pairs() { return rig_.second.queue_pairs(1); }
  // With values that differ from 0 and from each other.
  static BroadcastGroup broadcast() {
    return {.gid = wire::infiniband::broadcast_gid(kGroupsKey),
            .lid = 0xC007,
            .partition = kGroupsKey,
            .qkey = 0x0B1B,
            .level = 3,
            .traffic_class = 5,
            .flow_label = 0x12345,
            .hop_limit = 9,
            .mtu = 2044,
            .mtu_code = 4,
            .rate_code = 7};
  }
  void settle() {
    bool has_served = true;
    while (has_served) {
      groups_->on_time(rig_.clock.now);
      ASSERT_TRUE(rig_.settle());
      has_served = administration_.serve() || groups_->next_deadline() <= rig_.clock.now;
    }
  }
  void advance(Duration duration) {
    for (; duration > Duration::zero(); duration -= milliseconds(250)) {
      rig_.clock.now += milliseconds(250);
      settle();
    }
  }
  void start(std::uint16_t vlan = 0) {
    listener_ = pairs().make({.partition = kGroupsKey, .qkey = 0x0B1B}, receiver_).value_or(0);
    groups_->start(vlan, broadcast(), listener_);
  }
  void join_one() {
    start();
    groups_->add(kNumberOne);
    settle();
    ASSERT_NE(groups_->find(kNumberOne), nullptr);
  }
  std::size_t joins() const {
    return administration_.asked_for(method::kSet, attribute::kMulticastMemberRecord);
  }
  std::size_t leaves() const {
    return administration_.asked_for(method::kDelete, attribute::kMulticastMemberRecord);
  }
  bool is_member() { return administration_.is_member(gid_of_one(), kGroupsPort); }
  bool is_heard() { return pairs().listens_to(administration_.lid_of(gid_of_one())); }

  SubnetRig rig_;
  SubnetAdministration administration_{rig_.first.mads(1), rig_.manager, rig_.clock};
  AdministrationClient client_{rig_.second, subnet::PortNumber{1}, rig_.clock};
  NoReceiver receiver_;
  std::uint32_t listener_ = 0;
  std::optional<GroupMemberships> groups_;
};

TEST_F(GroupMembershipsTest, AGroupIsMadeLikeTheBroadcastGroupAndHeard) {
  join_one();
  EXPECT_TRUE(is_member());
  EXPECT_TRUE(is_heard());
  ASSERT_EQ(administration_.asked().size(), 1u);
  const SubnetAdministration::Asked& asked = administration_.asked()[0];
  // Group, port, Q_Key, MTU and rate with their selectors, traffic class, partition, service level,
  // flow label, hop limit and state.
  EXPECT_EQ(asked.components, 0x173F7u);
  EXPECT_EQ(asked.member.group, gid_of_one());
  EXPECT_EQ(asked.member.qkey.get(), 0x0B1Bu);
  EXPECT_EQ(asked.member.mtu, 0x84);
  EXPECT_EQ(asked.member.traffic_class, 5);
  EXPECT_EQ(asked.member.partition.get(), kGroupsKey);
  EXPECT_EQ(asked.member.rate, 0x87);
  EXPECT_EQ(asked.member.level_flow_hop.get(), 0x3123'4509u);
  EXPECT_EQ(asked.member.scope_join & 0x0F, wire::infiniband::kJoinFull);
  EXPECT_EQ(groups_->find(kNumberOne)->lid, administration_.lid_of(gid_of_one()));
  EXPECT_EQ(groups_->next_deadline(), rig_.clock.now + kConfirmAfter);
}

TEST_F(GroupMembershipsTest, ALimitedMembersGroupIsThatOfAll) {
  BroadcastGroup limited = broadcast();
  limited.partition = 0x000A;
  groups_->start(0, limited, 0);
  groups_->add(kNumberOne);
  settle();
  EXPECT_TRUE(is_member());
  ASSERT_NE(groups_->find(kNumberOne), nullptr);
  EXPECT_EQ(groups_->find(kNumberOne)->partition, 0x000A);
}

TEST_F(GroupMembershipsTest, WithoutAPartitionItWaits) {
  groups_->add(kNumberOne);
  settle();
  EXPECT_EQ(joins(), 0u);
  EXPECT_EQ(groups_->next_deadline(), kNever);
  start();
  settle();
  EXPECT_TRUE(is_member());
  groups_->stop(0);
  settle();
  EXPECT_EQ(groups_->find(kNumberOne), nullptr);
  EXPECT_EQ(leaves(), 1u);
  start();
  settle();
  EXPECT_TRUE(is_member());
}

TEST_F(GroupMembershipsTest, AGroupThatIsNoLongerNamedIsLeft) {
  join_one();
  const std::uint16_t lid = administration_.lid_of(gid_of_one());
  groups_->remove(kNumberOne);
  EXPECT_FALSE(pairs().listens_to(lid));
  settle();
  EXPECT_EQ(administration_.made_groups(), 0u);
  EXPECT_EQ(groups_->size(), 0u);
  groups_->remove(kNumberOne);
  EXPECT_EQ(leaves(), 1u);
}

TEST_F(GroupMembershipsTest, WhatIsAboutToBeJoinedIsLeft) {
  start();
  groups_->add(kNumberOne);
  groups_->on_time(rig_.clock.now);
  EXPECT_EQ(groups_->open_questions(), 1u);
  groups_->remove(kNumberOne);
  EXPECT_EQ(groups_->open_questions(), 0u);
  settle();
  EXPECT_EQ(leaves(), 1u);
  EXPECT_EQ(administration_.made_groups(), 0u);
}

TEST_F(GroupMembershipsTest, AtItsEndAllAreLeft) {
  join_one();
  groups_.reset();
  ASSERT_TRUE(rig_.settle());
  administration_.serve();
  EXPECT_EQ(administration_.made_groups(), 0u);
  EXPECT_EQ(client_.open_questions(), 0u);
}

TEST_F(GroupMembershipsTest, AGroupOfTwoVlansStaysWhileOneIsInIt) {
  join_one();
  start(10);
  groups_->add(numbered(1, 10));
  settle();
  groups_->remove(kNumberOne);
  settle();
  EXPECT_TRUE(is_member());
  EXPECT_EQ(leaves(), 0u);
  groups_->forget(10);
  settle();
  EXPECT_FALSE(is_member());
}

TEST_F(GroupMembershipsTest, AnotherListenerHearsWhatIsJoined) {
  join_one();
  pairs().destroy(listener_);
  EXPECT_FALSE(is_heard());
  start();
  EXPECT_TRUE(is_heard());
  settle();
  EXPECT_EQ(joins(), 1u);
}

TEST_F(GroupMembershipsTest, OtherFactsAreJoinedAnew) {
  join_one();
  BroadcastGroup changed = broadcast();
  changed.qkey = 0x0C1C;
  groups_->start(0, changed, listener_);
  EXPECT_EQ(groups_->find(kNumberOne), nullptr);
  settle();
  ASSERT_NE(groups_->find(kNumberOne), nullptr);
  EXPECT_EQ(groups_->find(kNumberOne)->qkey, 0x0C1Cu);
  EXPECT_EQ(leaves(), 1u);
}

TEST_F(GroupMembershipsTest, WhatIsRefusedIsTriedAgainAfter1To64Seconds) {
  administration_.to_members().refusal = AdministrationStatus::kNoResources;
  start();
  groups_->add(kNumberOne);
  settle();
  EXPECT_EQ(groups_->find(kNumberOne), nullptr);
  for (const int pause : {1, 2, 4, 8, 16, 32, 64, 64}) {
    EXPECT_EQ(groups_->next_deadline(), rig_.clock.now + seconds(pause));
    advance(seconds(pause));
  }
  EXPECT_EQ(joins(), 9u);
  administration_.to_members() = {};
  advance(seconds(64));
  EXPECT_TRUE(is_member());
}

TEST_F(GroupMembershipsTest, AGroupOfAnotherQkeyIsNotHeard) {
  administration_.use_made_qkey(0x0C1C);
  start();
  groups_->add(kNumberOne);
  settle();
  EXPECT_EQ(groups_->find(kNumberOne), nullptr);
  EXPECT_FALSE(is_heard());
  EXPECT_EQ(groups_->next_deadline(), rig_.clock.now + seconds(1));
}

TEST_F(GroupMembershipsTest, RegisteringAgainKeepsGroupsInUse) {
  join_one();
  administration_.want_registrations();
  administration_.to_members().is_silent = true;
  groups_->register_again();
  settle();
  advance(seconds(5));
  EXPECT_NE(groups_->find(kNumberOne), nullptr) << "without an answer";
  administration_.to_members() = {};
  EXPECT_FALSE(is_member());
  advance(seconds(2));
  EXPECT_TRUE(is_member());
  EXPECT_TRUE(is_heard());
}

// It did not hear that a manager has begun anew.
TEST_F(GroupMembershipsTest, AGroupThatAdministrationHasLostIsConfirmedInTime) {
  join_one();
  administration_.forget_members();
  advance(kConfirmAfter - seconds(1));
  EXPECT_FALSE(is_member());
  EXPECT_NE(groups_->find(kNumberOne), nullptr);
  advance(seconds(1));
  EXPECT_TRUE(is_member());
  EXPECT_TRUE(is_heard());
}

TEST_F(GroupMembershipsTest, RefusalsEndAGroup) {
  join_one();
  administration_.to_members().refusal = AdministrationStatus::kDenied;
  const std::uint16_t lid = administration_.lid_of(gid_of_one());
  groups_->register_again();
  settle();
  EXPECT_NE(groups_->find(kNumberOne), nullptr) << "the first one";
  advance(seconds(1));
  EXPECT_EQ(groups_->find(kNumberOne), nullptr);
  EXPECT_FALSE(pairs().listens_to(lid));
}

TEST_F(GroupMembershipsTest, AGroupThatHasAnotherLidIsHeardThere) {
  join_one();
  const std::uint16_t before = administration_.lid_of(gid_of_one());
  // Another group takes the LID, in a subnet that begins anew.
  administration_.want_registrations();
  groups_->add(numbered(0));
  settle();
  groups_->register_again();
  settle();
  EXPECT_NE(administration_.lid_of(gid_of_one()), before);
  EXPECT_TRUE(is_heard());
  EXPECT_EQ(groups_->find(kNumberOne)->lid, administration_.lid_of(gid_of_one()));
}

TEST_F(GroupMembershipsTest, OpenQuestionsAreBounded) {
  administration_.to_members().is_silent = true;
  start();
  for (std::size_t i = 0; i < 200; ++i) groups_->add(numbered(i));
  settle();
  EXPECT_EQ(groups_->open_questions(), GroupMemberships::kMostAsked);
  EXPECT_EQ(client_.open_questions(), GroupMemberships::kMostAsked);
}

TEST_F(GroupMembershipsTest, QuestionsInASecondAreBounded) {
  start();
  for (std::size_t i = 0; i < 200; ++i) groups_->add(numbered(i));
  settle();
  EXPECT_EQ(joins(), GroupMemberships::kMostInSecond);
  EXPECT_EQ(groups_->next_deadline(), rig_.clock.now + seconds(1));
  advance(seconds(1));
  EXPECT_EQ(joins(), 2 * GroupMemberships::kMostInSecond);
  advance(seconds(3));
  EXPECT_EQ(administration_.made_groups(), 200u);
  EXPECT_EQ(groups_->open_questions(), 0u);
  // The first ones of all.
  EXPECT_EQ(groups_->next_deadline(), rig_.clock.now - seconds(4) + kConfirmAfter);
}

}  // namespace
}  // namespace paravane::ipoib
