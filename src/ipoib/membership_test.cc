#include "ipoib/membership.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "testing/recording_link_end.h"
#include "testing/subnet_administration.h"
#include "testing/subnet_rig.h"
#include "wire/infiniband/ip_over_infiniband.h"

namespace paravane::ipoib {
namespace {

namespace attribute = wire::infiniband::attribute;
namespace method = wire::infiniband::method;
using fake::SubnetAdministration;
using fake::SubnetRig;
using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::infiniband::AdministrationStatus;
using wire::infiniband::Mtu;
using State = Membership::State;

constexpr std::uint16_t kAll = 0xFFFF;
constexpr std::uint64_t kMemberPort = SubnetRig::kSecondGuid + 1;

class MembershipTest : public testing::Test,
                       private Membership::Listener,
                       private subnet::PortUser {
 protected:
  MembershipTest() {
    administration_.make_group(kAll);
    rig_.second.add_user(1, *this);
  }
  ~MembershipTest() override { rig_.second.remove_user(1, *this); }

  void follow(std::uint16_t vlan = 0) {
    Membership::Listener& listener = *this;
    membership_ = std::make_unique<Membership>(rig_.second, 1, client_, rig_.clock, vlan, listener);
    membership_->on_port_change();
  }
  // As an uplink does.
  void settle() {
    bool has_served = true;
    while (has_served) {
      if (membership_ && std::exchange(has_changed_, false)) membership_->on_port_change();
      if (membership_ && std::exchange(registers_again_, false)) membership_->on_register_again();
      if (membership_) membership_->on_time(rig_.clock.now);
      ASSERT_TRUE(rig_.settle());
      has_served = administration_.serve() || has_changed_ || registers_again_;
    }
  }
  void advance(Duration duration) {
    for (; duration > Duration::zero(); duration -= milliseconds(250)) {
      rig_.clock.now += milliseconds(250);
      settle();
    }
  }
  void joined(std::uint16_t vlan = 0) {
    follow(vlan);
    settle();
    ASSERT_EQ(membership_->state(), State::kJoined);
    changes_ = 0;
    administration_.forget_asked();
  }
  State state() const { return membership_->state(); }
  std::size_t joins() const {
    return administration_.asked_for(method::kSet, attribute::kMulticastMemberRecord);
  }
  std::size_t leaves() const {
    return administration_.asked_for(method::kDelete, attribute::kMulticastMemberRecord);
  }
  subnet::Port& port() { return *rig_.second.port(1); }
  void write_keys(std::vector<std::uint16_t> keys) {
    const auto* node = rig_.manager.find(kMemberPort);
    ASSERT_NE(node, nullptr);
    ASSERT_TRUE(rig_.manager.write_partitions(*node, std::move(keys)));
  }
  void bring_up() {
    port().link_up(subnet::Speed::kQuad);
    rig_.manager.sweep();
    settle();
  }
  // The times between the next `count` questions, from now on.
  std::vector<Duration> pauses(std::size_t count) {
    std::vector<Duration> all;
    Instant last = rig_.clock.now;
    std::size_t seen = joins();
    for (unsigned step = 0; all.size() < count && step < 1000; ++step) {
      advance(milliseconds(250));
      if (joins() == seen) continue;
      seen = joins();
      all.push_back(rig_.clock.now - last);
      last = rig_.clock.now;
    }
    return all;
  }

  SubnetRig rig_;
  SubnetAdministration administration_{rig_.first.mads(1), rig_.manager, rig_.clock};
  AdministrationClient client_{rig_.second, subnet::PortNumber{1}, rig_.clock};
  std::unique_ptr<Membership> membership_;
  unsigned changes_ = 0;

 private:
  void on_membership(Membership& membership) override {
    ++changes_;
    EXPECT_EQ(&membership, membership_.get());
    EXPECT_EQ(membership.group() != nullptr, membership.state() == State::kJoined);
  }
  void on_port_change() override { has_changed_ = true; }
  void on_register_again() override { registers_again_ = true; }

  bool has_changed_ = false;
  bool registers_again_ = false;
};

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
  EXPECT_EQ(membership_->next_deadline(), kNever);
  EXPECT_EQ(membership_->why(), "");
  advance(seconds(60));
  EXPECT_EQ(joins(), 1u);
  EXPECT_EQ(changes_, 1u);
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
  EXPECT_EQ(state(), State::kRefused);
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
  EXPECT_EQ(membership_->next_deadline(), kNever);
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

TEST_F(MembershipTest, ARefusalOrABadGroupEndsTheGroup) {
  joined();
  administration_.to_members().refusal = AdministrationStatus::kDenied;
  administration_.want_registrations();
  settle();
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
