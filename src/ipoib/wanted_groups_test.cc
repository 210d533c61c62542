#include "ipoib/wanted_groups.h"

#include <gtest/gtest.h>

#include <chrono>

#include "ipoib/group_query.h"

namespace paravane::ipoib {
namespace {

using std::chrono::seconds;
using Verdict = WantedGroups::Verdict;

constexpr MacBytes kVmOne{2, 0x50, 0x56, 0, 0, 1};
constexpr MacBytes kVmTwo{2, 0x50, 0x56, 0, 0, 2};
constexpr Instant kStart{seconds(1000)};

GroupName group(std::size_t number) {
  return name_of(wire::infiniband::Ipv4Address{239, 0, static_cast<std::uint8_t>(number >> 8),
                                               static_cast<std::uint8_t>(number)});
}
MacBytes mac(std::size_t number) {
  return {
      2, 0x50, 0x56, 1, static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number)};
}
VlanGroup key(std::uint16_t vlan, std::size_t number) {
  return {.vlan = vlan, .name = group(number)};
}

class WantedGroupsTest : public testing::Test {
 protected:
  Verdict want(const MacBytes& from, std::size_t number, std::uint16_t vlan = 0) {
    return groups_.want({.vlan = vlan, .mac = from, .group = group(number)}, now_);
  }
  bool leave(const MacBytes& from, std::size_t number, std::uint16_t vlan = 0) {
    return groups_.leave({.vlan = vlan, .mac = from, .group = group(number)}, now_);
  }
  std::vector<VlanGroup> at(Duration since) {
    now_ = kStart + since;
    return groups_.expire(now_);
  }

  WantedGroups groups_;
  Instant now_ = kStart;
};

TEST_F(WantedGroupsTest, AListenerIsForgottenAfter260Seconds) {
  EXPECT_EQ(groups_.next_deadline(), kNever);
  EXPECT_EQ(want(kVmOne, 1), Verdict::kNew);
  EXPECT_EQ(groups_.next_deadline(), kStart + seconds(260));
  EXPECT_TRUE(at(seconds(259)).empty());
  EXPECT_EQ(at(seconds(260)), std::vector{key(0, 1)});
  EXPECT_FALSE(groups_.contains(key(0, 1)));
  EXPECT_EQ(groups_.listeners(), 0u);
  EXPECT_EQ(groups_.next_deadline(), kNever);
}

TEST_F(WantedGroupsTest, OneThatRepeatsItStays) {
  want(kVmOne, 1);
  EXPECT_TRUE(at(seconds(125)).empty());
  EXPECT_EQ(want(kVmOne, 1), Verdict::kKnown);
  EXPECT_TRUE(at(seconds(260)).empty());
  EXPECT_EQ(groups_.next_deadline(), kStart + seconds(125 + 260));
  EXPECT_EQ(at(seconds(125 + 260)).size(), 1u);
}

TEST_F(WantedGroupsTest, AGroupEndsTwoSecondsAfterItsLastListenerHasLeft) {
  want(kVmOne, 1);
  EXPECT_EQ(want(kVmTwo, 1), Verdict::kKnown);
  EXPECT_FALSE(leave(kVmOne, 1));
  EXPECT_FALSE(leave(kVmOne, 1)) << "it had left";
  EXPECT_TRUE(leave(kVmTwo, 1));
  EXPECT_TRUE(groups_.contains(key(0, 1)));
  EXPECT_TRUE(at(seconds(1)).empty());
  EXPECT_EQ(at(seconds(2)), std::vector{key(0, 1)});
}

TEST_F(WantedGroupsTest, OneThatAnswersKeepsTheGroup) {
  want(kVmOne, 1);
  leave(kVmOne, 1);
  EXPECT_TRUE(at(seconds(1)).empty());
  EXPECT_EQ(want(kVmTwo, 1), Verdict::kKnown) << "the group is still joined";
  EXPECT_TRUE(at(seconds(60)).empty());
  EXPECT_EQ(at(seconds(261)).size(), 1u);
}

TEST_F(WantedGroupsTest, AGroupLastsAsLongAsOneOfItsListeners) {
  want(kVmOne, 1);
  EXPECT_TRUE(at(seconds(100)).empty());
  want(kVmTwo, 1);
  EXPECT_TRUE(at(seconds(260)).empty());
  EXPECT_EQ(groups_.listeners(), 1u);
  EXPECT_EQ(at(seconds(360)).size(), 1u);
}

TEST_F(WantedGroupsTest, AMacHas32) {
  for (std::size_t i = 0; i < WantedGroups::kMostOfMac; ++i)
    ASSERT_EQ(want(kVmOne, i), Verdict::kNew);
  EXPECT_EQ(want(kVmOne, 1000), Verdict::kNoRoom);
  EXPECT_EQ(want(kVmOne, 1), Verdict::kKnown);
  EXPECT_EQ(want(kVmTwo, 1000), Verdict::kNew) << "another's share";
  EXPECT_EQ(want(kVmOne, 1000), Verdict::kNoRoom) << "there it would be a listener";
  EXPECT_EQ(want(kVmOne, 1000, 5), Verdict::kNew) << "in another VLAN it is another";
  leave(kVmOne, 1);
  EXPECT_EQ(want(kVmOne, 1000), Verdict::kKnown);
}

TEST_F(WantedGroupsTest, AVlanHasHalfOfTheGroups) {
  for (const std::uint16_t vlan : {std::uint16_t{0}, std::uint16_t{5}}) {
    EXPECT_EQ(want(kVmTwo, 1000, 6), vlan == 0 ? Verdict::kNew : Verdict::kKnown);
    leave(kVmTwo, 1000, 6);
    for (std::size_t i = vlan == 0 ? 0 : 1; i < WantedGroups::kMostOfVlan; ++i)
      ASSERT_EQ(want(mac(i / 16), i, vlan), Verdict::kNew);
    if (vlan == 0) {
      EXPECT_EQ(want(kVmOne, 1000), Verdict::kNoRoom);
    }
  }
  EXPECT_EQ(groups_.size(), WantedGroups::kMost);
  EXPECT_EQ(want(kVmOne, 1001, 7), Verdict::kNoRoom) << "the room of all";
  EXPECT_EQ(want(kVmOne, 1), Verdict::kKnown);
  groups_.forget(0);
  EXPECT_EQ(groups_.size(), WantedGroups::kMostOfVlan);
  EXPECT_EQ(want(kVmOne, 1000), Verdict::kNew);
}

TEST_F(WantedGroupsTest, RoomThatEndsIsFree) {
  for (std::size_t i = 0; i < WantedGroups::kMostOfVlan; ++i) want(mac(i / 16), i);
  EXPECT_EQ(want(kVmOne, 1000), Verdict::kNoRoom);
  EXPECT_EQ(at(seconds(260)).size(), WantedGroups::kMostOfVlan);
  for (std::size_t i = 0; i < WantedGroups::kMostOfVlan; ++i)
    ASSERT_EQ(want(mac(i / 16), i), Verdict::kNew);
}

TEST_F(WantedGroupsTest, ListenersAreBounded) {
  for (std::size_t i = 0; i < WantedGroups::kMostListenersOfVlan; ++i)
    ASSERT_NE(want(mac(i), i % 8), Verdict::kNoRoom);
  EXPECT_EQ(want(kVmOne, 1), Verdict::kNoRoom);
  for (std::size_t i = 0; i < WantedGroups::kMostListenersOfVlan; ++i)
    ASSERT_NE(want(mac(i), i % 8, 5), Verdict::kNoRoom);
  EXPECT_EQ(want(kVmOne, 1, 7), Verdict::kNoRoom);
  EXPECT_EQ(groups_.listeners(), WantedGroups::kMostListeners);
  EXPECT_EQ(groups_.size(), 16u);
}

TEST_F(WantedGroupsTest, WhatAMacListensToCanBeGivenUp) {
  want(kVmOne, 1);
  want(kVmOne, 2);
  want(kVmTwo, 2);
  want(kVmOne, 3, 5);
  EXPECT_TRUE(at(seconds(60)).empty());
  const auto held = groups_.give_up(0, kVmOne, now_);
  ASSERT_EQ(held.size(), 2u);
  EXPECT_EQ(held[0].left, seconds(200));
  EXPECT_EQ(held[0].listener.mac, kVmOne);
  EXPECT_EQ(groups_.listeners(), 2u);
  EXPECT_EQ(at(seconds(62)), std::vector{key(0, 1)})
      << "without another listener, as after a leave";
  EXPECT_TRUE(groups_.contains(key(0, 2)));
  EXPECT_TRUE(groups_.contains(key(5, 3)));
}

TEST_F(WantedGroupsTest, VlansAreKeptApart) {
  want(kVmOne, 1, 5);
  EXPECT_FALSE(groups_.contains(key(0, 1)));
  EXPECT_FALSE(leave(kVmOne, 1, 0));
  EXPECT_EQ(want(kVmOne, 1, 6), Verdict::kNew);
  groups_.forget(5);
  EXPECT_EQ(groups_.size(), 1u);
  EXPECT_EQ(at(seconds(260)), std::vector{key(6, 1)});
}

TEST_F(WantedGroupsTest, ItIsAPlainValue) {
  want(kVmOne, 1);
  WantedGroups copy = groups_;
  leave(kVmOne, 1);
  EXPECT_TRUE(copy.contains(key(0, 1)));
  EXPECT_EQ(copy.listeners(), 1u);
}

}  // namespace
}  // namespace paravane::ipoib
