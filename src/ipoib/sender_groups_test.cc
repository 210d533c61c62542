#include "ipoib/sender_groups.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

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
using wire::infiniband::Gid;

constexpr std::uint64_t kSenderPort = SubnetRig::kSecondGuid + 1;
constexpr std::uint16_t kSenderKey = 0x800A;

GroupName sent_to(std::size_t number) {
  return name_of(wire::infiniband::Ipv4Address{239, 0, static_cast<std::uint8_t>(number >> 8),
                                               static_cast<std::uint8_t>(number)});
}
const Gid kSentTo = gid_of(sent_to(1), kSenderKey);

class SenderGroupsTest : public testing::Test {
 protected:
  SenderGroupsTest() { senders_.emplace(rig_.second.group_uses(1), client_, rig_.clock); }

  void settle() {
    do {
      senders_->on_time(rig_.clock.now);
      ASSERT_TRUE(rig_.settle());
    } while (administration_.serve());
  }
  void advance(Duration duration) {
    for (; duration > Duration::zero(); duration -= milliseconds(500)) {
      rig_.clock.now += milliseconds(500);
      settle();
    }
  }
  // What a packet finds; then an answer comes, if one does.
  const BroadcastGroup* find(std::size_t number = 1) {
    const BroadcastGroup* found = senders_->find(sent_to(number), broadcast_);
    if (found != nullptr) found_ = *found;
    const bool was_found = found != nullptr;
    settle();
    return was_found ? &found_ : nullptr;
  }
  // The other port is a full member.
  void make_group(std::size_t number = 1) {
    ASSERT_TRUE(
        other_.join_or_make(gid_of(sent_to(number), kSenderKey), broadcast_, [](const auto&) {}));
    settle();
  }
  void end_group() {
    other_.leave(kSentTo, kSenderKey, false);
    settle();
  }
  std::size_t asked() {
    return administration_.asked_for(method::kSet, attribute::kMulticastMemberRecord);
  }

  BroadcastGroup broadcast_{.gid = wire::infiniband::broadcast_gid(kSenderKey),
                            .lid = 0xC007,
                            .partition = kSenderKey,
                            .qkey = 0x0B1B,
                            .mtu = 2044,
                            .mtu_code = 4,
                            .rate_code = 7};
  SubnetRig rig_;
  SubnetAdministration administration_{rig_.first.mads(1), rig_.manager, rig_.clock};
  AdministrationClient client_{rig_.second, subnet::PortNumber{1}, rig_.clock};
  AdministrationClient other_{rig_.first, subnet::PortNumber{1}, rig_.clock};
  BroadcastGroup found_;
  std::optional<SenderGroups> senders_;
};

TEST_F(SenderGroupsTest, AGroupThatExistsIsJoinedToSendToIt) {
  make_group();
  EXPECT_EQ(find(), nullptr) << "the first goes to all";
  ASSERT_NE(find(), nullptr);
  EXPECT_EQ(found_.gid, kSentTo);
  EXPECT_EQ(found_.lid, administration_.lid_of(kSentTo));
  EXPECT_EQ(found_.partition, kSenderKey);
  EXPECT_TRUE(administration_.is_sender(kSentTo, kSenderPort));
  EXPECT_FALSE(administration_.is_member(kSentTo, kSenderPort));
  EXPECT_EQ(asked(), 2u) << "one is the other port's";
}

TEST_F(SenderGroupsTest, AGroupThatDoesNotExistIsNotMadeAndAskedForEach30Seconds) {
  EXPECT_EQ(find(), nullptr);
  EXPECT_EQ(find(), nullptr);
  EXPECT_EQ(asked(), 1u);
  EXPECT_EQ(administration_.made_groups(), 0u);
  make_group();
  EXPECT_EQ(find(), nullptr);
  advance(SenderGroups::kLife);
  EXPECT_EQ(find(), nullptr);
  EXPECT_NE(find(), nullptr);
}

TEST_F(SenderGroupsTest, AGroupThatEndsIsNoLongerSentTo) {
  make_group();
  find();
  EXPECT_NE(find(), nullptr);
  end_group();
  EXPECT_NE(find(), nullptr) << "this is not told";
  advance(SenderGroups::kLife);
  EXPECT_NE(find(), nullptr) << "while it is asked for";
  EXPECT_EQ(find(), nullptr);
}

TEST_F(SenderGroupsTest, AllHearAQuestionForANode) {
  const GroupName node =
      name_of(wire::infiniband::Ipv6Address{0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF, 0, 0, 2});
  ASSERT_TRUE(other_.join_or_make(gid_of(node, kSenderKey), broadcast_, [](const auto&) {}));
  settle();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(senders_->find(node, broadcast_), nullptr);
    settle();
  }
  EXPECT_EQ(senders_->size(), 0u);
}

TEST_F(SenderGroupsTest, WithoutAnAnswerAGroupStaysInUse) {
  make_group();
  find();
  administration_.to_members().is_silent = true;
  advance(SenderGroups::kLife);
  EXPECT_NE(find(), nullptr);
  advance(seconds(10));
  EXPECT_NE(find(), nullptr);
}

TEST_F(SenderGroupsTest, AGroupOfAnotherQkeyIsNotSentTo) {
  administration_.use_made_qkey(0x0C1C);
  make_group();
  find();
  EXPECT_EQ(find(), nullptr);
}

TEST_F(SenderGroupsTest, AGroupThatIsIdleForFiveMinutesIsLeft) {
  make_group();
  find();
  EXPECT_EQ(senders_->next_deadline(), rig_.clock.now + SenderGroups::kIdle);
  advance(seconds(100));
  find();
  advance(seconds(299));
  EXPECT_EQ(senders_->size(), 1u);
  advance(seconds(1));
  EXPECT_EQ(senders_->size(), 0u);
  EXPECT_FALSE(administration_.is_sender(kSentTo, kSenderPort));
  EXPECT_EQ(senders_->next_deadline(), kNever);
}

TEST_F(SenderGroupsTest, AtItsEndAllAreLeft) {
  make_group();
  find();
  find(2);
  senders_->find(sent_to(3), broadcast_);
  senders_.reset();
  ASSERT_TRUE(rig_.settle());
  administration_.serve();
  EXPECT_FALSE(administration_.is_sender(kSentTo, kSenderPort));
  EXPECT_EQ(client_.open_questions(), 0u);
}

TEST_F(SenderGroupsTest, APartitionThatIsNotInUseIsForgotten) {
  make_group();
  find();
  BroadcastGroup other = broadcast_;
  other.partition = 0x800B;
  senders_->forget(other);
  EXPECT_EQ(senders_->size(), 1u);
  senders_->forget(broadcast_);
  settle();
  EXPECT_EQ(senders_->size(), 0u);
  EXPECT_FALSE(administration_.is_sender(kSentTo, kSenderPort));
}

TEST_F(SenderGroupsTest, OtherFactsOfThePartitionAreAskedForAnew) {
  make_group();
  find();
  broadcast_.qkey = 0x0C1C;
  EXPECT_EQ(find(), nullptr);
  EXPECT_EQ(find(), nullptr) << "the group has the old Q_Key";
}

TEST_F(SenderGroupsTest, AdministrationThatHasForgottenIsAskedAgain) {
  make_group();
  find();
  administration_.want_registrations();
  settle();
  make_group();
  senders_->ask_again();
  EXPECT_EQ(find(), nullptr);
  EXPECT_NE(find(), nullptr);
  EXPECT_TRUE(administration_.is_sender(kSentTo, kSenderPort));
}

TEST_F(SenderGroupsTest, TheGroupThatWasUsedLongestAgoGivesWay) {
  make_group();
  for (std::size_t i = 1; i <= SenderGroups::kMost; ++i) {
    find(i);
    if (i % 16 == 0) advance(seconds(1));
  }
  EXPECT_EQ(senders_->size(), SenderGroups::kMost);
  EXPECT_NE(find(), nullptr);
  find(1000);
  EXPECT_EQ(senders_->size(), SenderGroups::kMost);
  EXPECT_NE(find(), nullptr) << "it had just been used";
  for (std::size_t i = 2000; i < 2000 + SenderGroups::kMost; ++i) find(i);
  EXPECT_FALSE(administration_.is_sender(kSentTo, kSenderPort)) << "it was left";
}

TEST_F(SenderGroupsTest, OpenQuestionsAreBounded) {
  administration_.to_members().is_silent = true;
  for (std::size_t i = 0; i < 100; ++i) find(i);
  EXPECT_EQ(senders_->open_questions(), SenderGroups::kMostAsked);
  EXPECT_EQ(client_.open_questions(), SenderGroups::kMostAsked);
}

TEST_F(SenderGroupsTest, QuestionsInASecondAreBounded) {
  for (std::size_t i = 0; i < 100; ++i) find(i);
  EXPECT_EQ(asked(), SenderGroups::kMostInSecond);
  rig_.clock.now += seconds(1);
  find(200);
  EXPECT_EQ(asked(), SenderGroups::kMostInSecond + 1);
}

}  // namespace
}  // namespace paravane::ipoib
