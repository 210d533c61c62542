// What ends a Membership or makes it another: its port, its keys, its group and its end.

#include <gtest/gtest.h>

#include <chrono>

#include "ipoib/confirmation.h"
#include "ipoib/membership_test.h"
#include "testing/port_orders.h"

namespace paravane::ipoib {
namespace {

using std::chrono::seconds;
using wire::infiniband::AdministrationStatus;
using wire::infiniband::Mtu;
using State = Membership::State;

// ---- Changes ----

TEST_F(MembershipTest, RegisteringAgainKeepsTheGroupInUse) {
  joined();
  administration_.to_members().is_silent = true;
  administration_.want_registrations();
  settle();
  EXPECT_EQ(joins(), 1u);
  EXPECT_EQ(state(), State::kJoined);
  EXPECT_NE(membership_->group(), nullptr);
  advance(seconds(4));
  EXPECT_EQ(state(), State::kJoined) << "without an answer";
  EXPECT_EQ(membership_->next_deadline(), rig_.clock.now + seconds(1));
  administration_.to_members().is_silent = false;
  EXPECT_FALSE(administration_.is_member(kAll, kMemberPort));
  advance(seconds(1));
  EXPECT_TRUE(administration_.is_member(kAll, kMemberPort));
  EXPECT_EQ(membership_->next_deadline(), rig_.clock.now + kConfirmAfter);
  EXPECT_EQ(changes_, 0u) << "it is the same group";
}

TEST_F(MembershipTest, AGroupThatHasChangedIsTold) {
  joined();
  administration_.make_group(kAll, {.qkey = 7, .mtu = Mtu::k4096});
  administration_.want_registrations();
  settle();
  EXPECT_EQ(changes_, 1u);
  EXPECT_EQ(membership_->group()->qkey, 7u);
  EXPECT_EQ(membership_->group()->mtu, 4092u);
}

// A manager that sets the subnet up does not know the port for a moment.
TEST_F(MembershipTest, OneRefusalDoesNotEndTheGroup) {
  joined();
  for (int i = 0; i < 2; ++i) {
    administration_.to_members().refusal = AdministrationStatus::kDenied;
    administration_.want_registrations();
    settle();
    EXPECT_EQ(state(), State::kJoined);
    administration_.to_members() = {};
    advance(seconds(1));
    EXPECT_TRUE(administration_.is_member(kAll, kMemberPort));
  }
  EXPECT_EQ(changes_, 0u);
}

TEST_F(MembershipTest, RefusalsOrABadGroupEndTheGroup) {
  joined();
  administration_.to_members().refusal = AdministrationStatus::kDenied;
  administration_.want_registrations();
  settle();
  EXPECT_EQ(state(), State::kJoined);
  advance(seconds(1));
  EXPECT_EQ(state(), State::kRefused);
  EXPECT_EQ(membership_->group(), nullptr);
  EXPECT_EQ(changes_, 1u);
  administration_.to_members() = {};
  joined();
  administration_.make_group(kAll, {.qkey = 0xFFFF'FFFF});
  administration_.want_registrations();
  settle();
  EXPECT_EQ(state(), State::kRefused);
  EXPECT_EQ(membership_->group(), nullptr);
  EXPECT_EQ(changes_, 1u);
}

TEST_F(MembershipTest, ALinkThatGoesEndsItAndOneThatComesJoins) {
  joined();
  port().link_down();
  settle();
  EXPECT_EQ(state(), State::kNoLink);
  EXPECT_EQ(changes_, 1u);
  bring_up();
  EXPECT_EQ(state(), State::kJoined);
  EXPECT_EQ(changes_, 2u);
}

TEST_F(MembershipTest, ALinkThatGoesEndsTheQuestion) {
  administration_.to_members().is_silent = true;
  follow();
  settle();
  port().link_down();
  settle();
  EXPECT_EQ(state(), State::kNoLink);
  EXPECT_EQ(client_.open_questions(), 0u);
  advance(seconds(10));
  EXPECT_EQ(state(), State::kNoLink);
  EXPECT_EQ(membership_->next_deadline(), kNever);
}

TEST_F(MembershipTest, APartitionComesAndGoes) {
  administration_.make_group(0x8005);
  write_keys({kAll, 0x8005});
  joined(5);
  write_keys({kAll});
  settle();
  EXPECT_EQ(state(), State::kNoKey);
  EXPECT_EQ(changes_, 1u);
  administration_.want_registrations();
  settle();
  EXPECT_EQ(state(), State::kNoKey);
  EXPECT_EQ(joins(), 0u);
  write_keys({kAll, 0x8006, 0x8005});
  settle();
  EXPECT_EQ(state(), State::kJoined);
  EXPECT_EQ(changes_, 2u);
}

TEST_F(MembershipTest, WhatChangesElsewhereIsNoChange) {
  joined();
  write_keys({kAll, 0x8005, 0x8006});
  settle();
  EXPECT_EQ(changes_, 0u);
  EXPECT_EQ(joins(), 0u);
}

TEST_F(MembershipTest, AnotherFirstKeyIsAnotherGroup) {
  administration_.make_group(0x8005);
  joined();
  write_keys({0x8005, kAll});
  settle();
  EXPECT_EQ(state(), State::kJoined);
  EXPECT_EQ(changes_, 2u) << "lost, and joined";
  EXPECT_EQ(membership_->group()->partition, 0x8005);
  EXPECT_TRUE(administration_.is_member(0x8005, kMemberPort));
  EXPECT_FALSE(administration_.is_member(kAll, kMemberPort)) << "it left";
}

TEST_F(MembershipTest, AnotherLidJoinsAnew) {
  joined();
  ASSERT_TRUE(fake::set_port_identity(port(), 0x40, rig_.first_lid()));
  membership_->on_port_change();
  EXPECT_EQ(state(), State::kJoining);
  EXPECT_EQ(changes_, 1u);
  EXPECT_EQ(client_.open_questions(), 1u);
}

// ---- The end ----

TEST_F(MembershipTest, AtItsEndItLeaves) {
  joined();
  membership_.reset();
  settle();
  EXPECT_EQ(leaves(), 1u);
  EXPECT_FALSE(administration_.is_member(kAll, kMemberPort));
}

TEST_F(MembershipTest, AtItsEndItLeavesWhatItWasAboutToJoin) {
  follow();
  membership_.reset();
  settle();
  EXPECT_EQ(joins(), 1u);
  EXPECT_EQ(leaves(), 1u);
  EXPECT_FALSE(administration_.is_member(kAll, kMemberPort));
  EXPECT_EQ(changes_, 0u);
  EXPECT_EQ(client_.open_questions(), 0u);
}

TEST_F(MembershipTest, WhatIsNotJoinedIsNotLeft) {
  administration_.remove_group(kAll);
  follow();
  settle();
  membership_.reset();
  settle();
  EXPECT_EQ(leaves(), 0u);
}

}  // namespace
}  // namespace paravane::ipoib
