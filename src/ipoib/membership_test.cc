#include "ipoib/membership.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "ipoib/confirmation.h"
#include "ipoib/membership_test.h"
#include "testing/port_orders.h"
#include "wire/infiniband/ip_over_infiniband.h"

namespace paravane::ipoib {
namespace {

using fake::SubnetAdministration;
using std::chrono::seconds;
using wire::infiniband::AdministrationStatus;
using wire::infiniband::Mtu;
using State = Membership::State;

// ---- Joining ----

TEST_F(MembershipTest, AnActivePortJoinsTheGroupOfItsFirstKey) {
  follow();
  EXPECT_EQ(state(), State::kJoining);
  EXPECT_EQ(membership_->group(), nullptr);
  EXPECT_EQ(changes_, 0u);
  settle();
  EXPECT_EQ(state(), State::kJoined);
  EXPECT_EQ(changes_, 1u);
  ASSERT_NE(membership_->group(), nullptr);
  EXPECT_EQ(membership_->group()->gid, wire::infiniband::broadcast_gid(kAll));
  EXPECT_EQ(membership_->group()->partition, kAll);
  EXPECT_EQ(membership_->group()->lid, administration_.lid_of(kAll));
  EXPECT_EQ(membership_->group()->mtu, 2044u);
  EXPECT_EQ(membership_->next_deadline(), rig_.clock.now + kConfirmAfter);
  EXPECT_EQ(membership_->why(), "");
  advance(kConfirmAfter - seconds(1));
  EXPECT_EQ(joins(), 1u);
  EXPECT_EQ(changes_, 1u);
}

// It did not hear that a manager has begun anew.
TEST_F(MembershipTest, AMembershipThatAdministrationHasLostIsConfirmedInTime) {
  joined();
  administration_.forget_members();
  advance(kConfirmAfter - seconds(1));
  EXPECT_FALSE(administration_.is_member(kAll, kMemberPort));
  EXPECT_EQ(state(), State::kJoined);
  advance(seconds(1));
  EXPECT_TRUE(administration_.is_member(kAll, kMemberPort));
  EXPECT_EQ(changes_, 0u) << "it is the same group";
  advance(kConfirmAfter);
  EXPECT_EQ(joins(), 2u);
}

TEST_F(MembershipTest, AVlanIsItsPartition) {
  administration_.make_group(0x8005);
  write_keys({kAll, 0x8005});
  joined(5);
  EXPECT_EQ(membership_->vlan(), 5);
  EXPECT_EQ(membership_->group()->partition, 0x8005);
  EXPECT_TRUE(administration_.is_member(0x8005, kMemberPort));
  EXPECT_FALSE(administration_.is_member(kAll, kMemberPort));
}

TEST_F(MembershipTest, ALimitedMemberJoinsTheFullMembersGroupAndSendsWithItsOwnKey) {
  administration_.make_group(0x8005);
  write_keys({kAll, 0x0005});
  follow(5);
  settle();
  ASSERT_EQ(state(), State::kJoined);
  ASSERT_EQ(administration_.asked().size(), 1u);
  EXPECT_EQ(administration_.asked()[0].member.partition.get(), 0x8005);
  EXPECT_EQ(membership_->group()->gid, wire::infiniband::broadcast_gid(0x8005));
  EXPECT_EQ(membership_->group()->partition, 0x0005);
}

TEST_F(MembershipTest, AFullMembersKeyIsPreferred) {
  administration_.make_group(0x8005);
  write_keys({kAll, 0x0005, 0x8005});
  joined(5);
  EXPECT_EQ(membership_->group()->partition, 0x8005);
}

TEST_F(MembershipTest, WithoutALinkOrAKeyItWaits) {
  port().link_down();
  follow();
  EXPECT_EQ(state(), State::kNoLink);
  EXPECT_EQ(membership_->next_deadline(), kNever);
  settle();
  bring_up();
  EXPECT_EQ(state(), State::kJoined);
  follow(5);
  EXPECT_EQ(state(), State::kNoKey);
  EXPECT_EQ(membership_->next_deadline(), kNever);
  administration_.make_group(0x8005);
  write_keys({kAll, 0x8005});
  settle();
  EXPECT_EQ(state(), State::kJoined);
  EXPECT_EQ(membership_->why(), "");
}

// ---- Trying again ----

TEST_F(MembershipTest, WhatIsRefusedIsTriedAgainAfter1To16Seconds) {
  administration_.remove_group(kAll);
  follow();
  settle();
  EXPECT_EQ(state(), State::kRefused);
  EXPECT_EQ(membership_->group(), nullptr);
  EXPECT_EQ(membership_->next_deadline(), rig_.clock.now + seconds(1));
  const std::vector<Duration> expected{seconds(1), seconds(2),  seconds(4),
                                       seconds(8), seconds(16), seconds(16)};
  EXPECT_EQ(pauses(6), expected);
  EXPECT_EQ(changes_, 0u);
  administration_.make_group(kAll);
  advance(seconds(16));
  EXPECT_EQ(state(), State::kJoined);
  // The next refusal begins anew.
  administration_.to_members().refusal = AdministrationStatus::kDenied;
  administration_.want_registrations();
  settle();
  EXPECT_EQ(membership_->next_deadline(), rig_.clock.now + seconds(1));
}

TEST_F(MembershipTest, AnUnansweredQuestionIsAskedAgainLater) {
  administration_.to_members().is_silent = true;
  follow();
  settle();
  EXPECT_EQ(state(), State::kJoining);
  advance(seconds(4));
  EXPECT_EQ(state(), State::kRefused);
  EXPECT_EQ(joins(), 4u);
  EXPECT_EQ(client_.open_questions(), 0u);
  administration_.to_members().is_silent = false;
  advance(seconds(1));
  EXPECT_EQ(state(), State::kJoined);
}

TEST_F(MembershipTest, ThereIsOneQuestionAtATime) {
  administration_.to_members().is_silent = true;
  follow();
  for (unsigned i = 0; i < 20; ++i) {
    administration_.want_registrations();
    settle();
    membership_->on_port_change();
    EXPECT_EQ(client_.open_questions(), 1u);
  }
}

TEST_F(MembershipTest, ItSaysWhyItIsRefused) {
  using Manners = SubnetAdministration::Manners;
  using Group = SubnetAdministration::Group;
  const auto why = [this](const Manners& manners, const Group& group = {}) {
    administration_.make_group(kAll, group);
    administration_.to_members() = manners;
    follow();
    settle();
    EXPECT_EQ(state(), State::kRefused);
    return membership_->why();
  };
  const auto refusal = [](AdministrationStatus status) { return Manners{.refusal = status}; };
  const std::string no_group = "the subnet manager has no broadcast group for it";
  EXPECT_EQ(why(refusal(AdministrationStatus::kTooFewComponents)), no_group);
  EXPECT_EQ(why(refusal(AdministrationStatus::kNoRecords)), no_group);
  EXPECT_EQ(why(refusal(AdministrationStatus::kInvalid)),
            "the subnet manager refuses this port: the MTU or rate of its broadcast group is above "
            "the port's");
  EXPECT_EQ(why(refusal(AdministrationStatus::kDenied)),
            "the subnet manager refuses this port, status 7");
  EXPECT_EQ(why({.is_busy = true}), "the subnet manager does not answer whether it may join");
  EXPECT_EQ(why({.is_of_another = true}), "the subnet manager does not answer whether it may join");
  EXPECT_EQ(why({}, {.qkey = wire::infiniband::kServiceQkey}),
            "its broadcast group has a controlled Q_Key");
  EXPECT_EQ(why({}, {.lid = 7}), "its broadcast group has no multicast LID");
  EXPECT_EQ(why({}, {.mtu = Mtu::k1024}),
            "its broadcast group has an MTU other than 2048 and 4096, or above this port's");
  ASSERT_TRUE(fake::set_port_identity(port(), rig_.second_lid(), 0));
  follow();
  EXPECT_EQ(state(), State::kRefused);
  EXPECT_EQ(membership_->why(), "the port has no subnet manager");
}

TEST_F(MembershipTest, TheLastReasonIsSaid) {
  administration_.make_group(kAll, {.qkey = wire::infiniband::kServiceQkey});
  follow();
  settle();
  EXPECT_EQ(membership_->why(), "its broadcast group has a controlled Q_Key");
  administration_.to_members().is_busy = true;
  advance(seconds(1));
  EXPECT_EQ(membership_->why(), "the subnet manager does not answer whether it may join");
  administration_.to_members().is_busy = false;
  advance(seconds(2));
  EXPECT_EQ(membership_->why(), "its broadcast group has a controlled Q_Key");
  ASSERT_TRUE(fake::set_port_identity(port(), rig_.second_lid(), 0));
  advance(seconds(4));
  EXPECT_EQ(membership_->why(), "the port has no subnet manager");
}

TEST_F(MembershipTest, WithoutRoomForAQuestionItSaysSoAndTriesAgain) {
  administration_.to_paths().is_silent = true;
  while (client_.find_path({.destination = 1}, [](const auto&) {})) {
  }
  follow();
  EXPECT_EQ(state(), State::kRefused);
  EXPECT_EQ(membership_->why(), "too many questions wait for an answer");
  advance(seconds(8));
  EXPECT_EQ(state(), State::kJoined);
}

}  // namespace
}  // namespace paravane::ipoib
