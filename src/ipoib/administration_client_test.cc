#include "ipoib/administration_client.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "testing/port_orders.h"
#include "testing/recording_link_end.h"
#include "testing/subnet_administration.h"
#include "testing/subnet_rig.h"
#include "wire/infiniband/attribute.h"
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
using wire::infiniband::Gid;
using wire::infiniband::MulticastMember;
using wire::infiniband::PathRecord;
using Cause = AdministrationFailure::Cause;

constexpr std::uint16_t kKey = 0xFFFF;
constexpr std::uint64_t kOwnPort = SubnetRig::kSecondGuid + 1;

class NoAgent final : public subnet::MadAgent {
  void on_mad(subnet::AgentId /*agent*/, const subnet::MadAddress& /*from*/,
              std::span<const std::byte> /*mad*/) override {}
  void on_no_answer(subnet::AgentId /*agent*/, const subnet::MadAddress& /*to*/,
                    std::span<const std::byte> /*mad*/) override {}
};

class AdministrationClientTest : public testing::Test {
 protected:
  using MemberAnswer = AdministrationClient::Answer<MulticastMember>;
  using PathAnswer = AdministrationClient::Answer<PathRecord>;

  AdministrationClientTest() { administration_.make_group(kKey, {.qkey = 0x1234, .level = 3}); }

  void settle() {
    do {
      ASSERT_TRUE(rig_.settle());
    } while (administration_.serve());
  }
  // In steps below the time of a try.
  void advance(Duration duration) {
    for (; duration > Duration::zero(); duration -= milliseconds(250)) {
      rig_.clock.now += milliseconds(250);
      settle();
    }
  }
  auto join() {
    return client_->join(wire::infiniband::broadcast_gid(kKey), kKey, false,
                         [this](const MemberAnswer& answer) { members_.push_back(answer); });
  }
  auto find(std::uint16_t lid) {
    return client_->find_path({.destination = lid, .partition = kKey},
                              [this](const PathAnswer& answer) { paths_.push_back(answer); });
  }
  static AdministrationFailure because(Cause cause) { return {.cause = cause}; }
  subnet::HostAdapter& adapter() { return rig_.second; }
  std::size_t joins() const {
    return administration_.asked_for(method::kSet, attribute::kMulticastMemberRecord);
  }

  SubnetRig rig_;
  SubnetAdministration administration_{rig_.first.mads(1), rig_.manager, rig_.clock};
  std::unique_ptr<AdministrationClient> client_ =
      std::make_unique<AdministrationClient>(rig_.second, subnet::PortNumber{1}, rig_.clock);
  std::vector<MemberAnswer> members_;
  std::vector<PathAnswer> paths_;
};

// ---- Answers ----

TEST_F(AdministrationClientTest, AGroupIsJoinedInThePortsName) {
  const auto question = join();
  ASSERT_TRUE(question);
  EXPECT_NE(*question, QuestionId::kNone);
  EXPECT_EQ(client_->open_questions(), 1u);
  EXPECT_TRUE(members_.empty()) << "later than the question";
  settle();
  EXPECT_EQ(client_->open_questions(), 0u);
  ASSERT_EQ(members_.size(), 1u);
  ASSERT_TRUE(members_[0]);
  EXPECT_EQ(members_[0]->qkey.get(), 0x1234u);
  EXPECT_EQ(members_[0]->level(), 3);
  ASSERT_EQ(administration_.asked().size(), 1u);
  const SubnetAdministration::Asked& asked = administration_.asked()[0];
  EXPECT_EQ(asked.method, method::kSet);
  EXPECT_EQ(asked.member.group, wire::infiniband::broadcast_gid(kKey));
  EXPECT_EQ(asked.member.port, fake::gid_of_port(kOwnPort));
  EXPECT_EQ(asked.member.partition.get(), kKey);
  EXPECT_EQ(asked.member.scope_join & 0x0F, wire::infiniband::kJoinFull);
  EXPECT_EQ(asked.components, 0x10083u);
  EXPECT_TRUE(administration_.is_member(kKey, kOwnPort));
}

TEST_F(AdministrationClientTest, AMemberMayOnlySend) {
  ASSERT_TRUE(client_->join(wire::infiniband::broadcast_gid(kKey), kKey, true, [](const auto&) {}));
  settle();
  ASSERT_EQ(administration_.asked().size(), 1u);
  EXPECT_EQ(administration_.asked()[0].member.scope_join & 0x0F, wire::infiniband::kJoinSendOnly);
}

TEST_F(AdministrationClientTest, AGroupIsLeftWithoutWaiting) {
  ASSERT_TRUE(join());
  settle();
  client_->leave(wire::infiniband::broadcast_gid(kKey), kKey, false);
  EXPECT_EQ(client_->open_questions(), 0u);
  settle();
  EXPECT_EQ(administration_.asked_for(method::kDelete, attribute::kMulticastMemberRecord), 1u);
  EXPECT_FALSE(administration_.is_member(kKey, kOwnPort));
  EXPECT_EQ(members_.size(), 1u) << "the answer to the leave is no answer to a question";
}

TEST_F(AdministrationClientTest, APathIsFoundByLid) {
  ASSERT_TRUE(find(rig_.first_lid()));
  settle();
  ASSERT_EQ(paths_.size(), 1u);
  ASSERT_TRUE(paths_[0]);
  EXPECT_EQ(paths_[0]->destination, fake::gid_of_port(SubnetRig::kFirstGuid + 1));
  ASSERT_EQ(administration_.asked().size(), 1u);
  const SubnetAdministration::Asked& asked = administration_.asked()[0];
  EXPECT_EQ(asked.method, method::kGet);
  EXPECT_EQ(asked.path.source, fake::gid_of_port(kOwnPort));
  EXPECT_EQ(asked.path.destination_lid.get(), rig_.first_lid());
  EXPECT_EQ(asked.path.partition.get(), kKey);
  EXPECT_EQ(asked.path.reversible_paths, 0x81);
  EXPECT_EQ(asked.components, 0x3818u);
}

TEST_F(AdministrationClientTest, EachQuestionGetsItsOwnAnswer) {
  ASSERT_TRUE(find(rig_.second_lid()));
  ASSERT_TRUE(join());
  ASSERT_TRUE(find(rig_.first_lid()));
  EXPECT_EQ(client_->open_questions(), 3u);
  settle();
  EXPECT_EQ(members_.size(), 1u);
  ASSERT_EQ(paths_.size(), 2u);
  EXPECT_EQ(paths_[0]->destination_lid.get(), rig_.second_lid());
  EXPECT_EQ(paths_[1]->destination_lid.get(), rig_.first_lid());
}

TEST_F(AdministrationClientTest, ARefusalHasItsStatus) {
  ASSERT_TRUE(find(0x77));
  administration_.to_members().refusal = AdministrationStatus::kDenied;
  ASSERT_TRUE(join());
  settle();
  ASSERT_EQ(paths_.size(), 1u);
  EXPECT_EQ(paths_[0].error(), (AdministrationFailure{.cause = Cause::kRefused,
                                                      .status = AdministrationStatus::kNoRecords}));
  ASSERT_EQ(members_.size(), 1u);
  EXPECT_EQ(members_[0].error().status, AdministrationStatus::kDenied);
}

// ---- Bad answers ----

TEST_F(AdministrationClientTest, WhatIsBusyDoesNotAnswer) {
  administration_.to_members().is_busy = true;
  ASSERT_TRUE(join());
  settle();
  ASSERT_EQ(members_.size(), 1u);
  EXPECT_EQ(members_[0].error(), because(Cause::kNoAnswer));
}

TEST_F(AdministrationClientTest, AnotherGroupOrPathIsNoAnswer) {
  administration_.to_members().is_of_another = true;
  administration_.to_paths().is_of_another = true;
  ASSERT_TRUE(join());
  ASSERT_TRUE(find(rig_.first_lid()));
  settle();
  ASSERT_EQ(members_.size(), 1u);
  EXPECT_EQ(members_[0].error(), because(Cause::kNoAnswer));
  ASSERT_EQ(paths_.size(), 1u);
  EXPECT_EQ(paths_[0].error(), because(Cause::kNoAnswer));
}

TEST_F(AdministrationClientTest, AnotherMethodOrAttributeIsNoAnswerAndEndsTheQuestion) {
  administration_.to_members().method = method::kGetTable | method::kResponse;
  administration_.to_paths().attribute = attribute::kNodeRecord;
  ASSERT_TRUE(join());
  ASSERT_TRUE(find(rig_.first_lid()));
  settle();
  EXPECT_EQ(client_->open_questions(), 0u);
  ASSERT_EQ(members_.size(), 1u);
  EXPECT_EQ(members_[0].error(), because(Cause::kNoAnswer));
  ASSERT_EQ(paths_.size(), 1u);
  EXPECT_EQ(paths_[0].error(), because(Cause::kNoAnswer));
}

TEST_F(AdministrationClientTest, WhatIsNotTheManagerCannotAnswer) {
  administration_.to_members().is_silent = true;
  const auto question = join();
  ASSERT_TRUE(question);
  settle();
  // The transaction is no secret: the agent's number, and one that counts.
  wire::infiniband::AdministrationPacket answer;
  answer.header.management_class = wire::infiniband::management_class::kSubnetAdministration;
  answer.header.class_version = wire::infiniband::kAdministrationVersion;
  answer.header.method = method::kGetResponse;
  answer.header.attribute.set(attribute::kMulticastMemberRecord);
  MulticastMember member;
  member.group = wire::infiniband::broadcast_gid(kKey);
  wire::infiniband::put_attribute(member, answer);
  for (std::uint64_t agent = 1; agent < 8; ++agent) {
    answer.header.transaction.set((agent << 32) | static_cast<std::uint32_t>(*question));
    const auto headers = fake::service_headers(rig_.switch_lid(), rig_.second_lid());
    adapter().on_packet(1, fake::packet_with(headers, fake::mad_bytes(answer)));
  }
  EXPECT_TRUE(members_.empty()) << "the question is open yet";
  administration_.to_members().is_silent = false;
  advance(AdministrationClient::kTimeout);
  ASSERT_EQ(members_.size(), 1u);
  EXPECT_TRUE(members_[0]);
}

// ---- No answer ----

TEST_F(AdministrationClientTest, ASilentOneIsAskedAFewTimes) {
  administration_.to_members().is_silent = true;
  ASSERT_TRUE(join());
  settle();
  EXPECT_EQ(joins(), 1u);
  advance(AdministrationClient::kTimeout * AdministrationClient::kRetries);
  EXPECT_EQ(joins(), 1u + AdministrationClient::kRetries);
  EXPECT_TRUE(members_.empty());
  advance(AdministrationClient::kTimeout);
  ASSERT_EQ(members_.size(), 1u);
  EXPECT_EQ(members_[0].error(), because(Cause::kNoAnswer));
  EXPECT_EQ(client_->open_questions(), 0u);
  advance(seconds(20));
  EXPECT_EQ(joins(), 1u + AdministrationClient::kRetries);
  EXPECT_EQ(members_.size(), 1u);
}

TEST_F(AdministrationClientTest, ALaterTryIsAnswered) {
  administration_.to_members().is_silent = true;
  ASSERT_TRUE(join());
  settle();
  administration_.to_members().is_silent = false;
  advance(AdministrationClient::kTimeout);
  ASSERT_EQ(members_.size(), 1u);
  EXPECT_TRUE(members_[0]);
}

TEST_F(AdministrationClientTest, ACancelledQuestionHasNoAnswer) {
  const auto question = join();
  ASSERT_TRUE(question);
  client_->cancel(*question);
  EXPECT_EQ(client_->open_questions(), 0u);
  settle();
  administration_.to_members().is_silent = true;
  const auto silent = join();
  ASSERT_TRUE(silent);
  client_->cancel(*silent);
  client_->cancel(QuestionId::kNone);
  advance(seconds(5));
  EXPECT_TRUE(members_.empty());
}

TEST_F(AdministrationClientTest, AnAnswerMayAskAndCancel) {
  std::optional<QuestionId> other;
  const auto asked = client_->join(wire::infiniband::broadcast_gid(kKey), kKey, false,
                                   [this, &other](const MemberAnswer&) {
                                     client_->cancel(*other);
                                     EXPECT_TRUE(find(rig_.first_lid()));
                                   });
  ASSERT_TRUE(asked);
  const auto cancelled = find(rig_.second_lid());
  ASSERT_TRUE(cancelled);
  other = *cancelled;
  settle();
  ASSERT_EQ(paths_.size(), 1u);
  EXPECT_EQ(paths_[0]->destination_lid.get(), rig_.first_lid());
}

TEST_F(AdministrationClientTest, OpenQuestionsEndWithTheClient) {
  ASSERT_TRUE(join());
  ASSERT_TRUE(rig_.settle());
  ASSERT_TRUE(find(rig_.first_lid()));
  client_.reset();
  settle();
  advance(seconds(5));
  EXPECT_TRUE(members_.empty());
  EXPECT_TRUE(paths_.empty());
}

// ---- No question ----

TEST_F(AdministrationClientTest, OpenQuestionsAreBounded) {
  administration_.to_paths().is_silent = true;
  for (std::size_t i = 0; i < AdministrationClient::kMostQuestions; ++i)
    ASSERT_TRUE(find(static_cast<std::uint16_t>(i + 1))) << i;
  EXPECT_EQ(find(1).error(), because(Cause::kNoRoom));
  EXPECT_EQ(join().error(), because(Cause::kNoRoom));
  EXPECT_EQ(client_->open_questions(), AdministrationClient::kMostQuestions);
  // The MAD layer sends a part of them again in each turn.
  for (unsigned i = 0; i < 1000 && paths_.size() < AdministrationClient::kMostQuestions; ++i)
    advance(milliseconds(10));
  EXPECT_EQ(paths_.size(), AdministrationClient::kMostQuestions);
  EXPECT_TRUE(join());
}

TEST_F(AdministrationClientTest, APortWithoutAManagerHasNoOneToAsk) {
  ASSERT_TRUE(fake::set_port_identity(*adapter().port(1), rig_.second_lid(), 0));
  EXPECT_EQ(join().error(), because(Cause::kNoManager));
  client_->leave(wire::infiniband::broadcast_gid(kKey), kKey, false);
  ASSERT_TRUE(fake::set_port_identity(*adapter().port(1), rig_.second_lid(), rig_.first_lid()));
  adapter().port(1)->link_down();
  EXPECT_EQ(find(1).error(), because(Cause::kNoManager));
  EXPECT_EQ(client_->open_questions(), 0u);
}

TEST_F(AdministrationClientTest, APortThatIsFullOfAgentsIsTriedAgain) {
  client_.reset();
  subnet::MadPort& mads = adapter().mads(1);
  NoAgent none;
  std::vector<subnet::AgentId> others;
  while (const auto made = mads.register_agent({.management_class = 7, .class_version = 1}, none))
    others.push_back(*made);
  client_ = std::make_unique<AdministrationClient>(adapter(), subnet::PortNumber{1}, rig_.clock);
  EXPECT_EQ(join().error(), because(Cause::kNoRoom));
  client_->leave(wire::infiniband::broadcast_gid(kKey), kKey, false);
  mads.unregister(others.front());
  EXPECT_TRUE(join());
  settle();
  ASSERT_EQ(members_.size(), 1u);
  EXPECT_TRUE(members_[0]);
}

// ---- How it is sent ----

TEST_F(AdministrationClientTest, QuestionsGoInTheDefaultPartitionAtTheLevelOfTheManager) {
  // Index 0 may be any partition's (opensm's order is that of its file).
  fake::RecordingLinkEnd end;
  adapter().attach(1, end);
  ASSERT_TRUE(fake::set_port_keys(*adapter().port(1), {0x8005, 0x7FFF}));
  wire::infiniband::PortInfo wish = fake::wish_at(*adapter().port(1));
  wish.mtu_master_level = static_cast<std::uint8_t>((wish.mtu_master_level & 0xF0) | 6);
  ASSERT_EQ(adapter().port(1)->set_info(wish), 0);
  ASSERT_TRUE(join());
  ASSERT_EQ(end.sent.size(), 1u);
  const auto sent = wire::infiniband::read_datagram(end.sent[0]);
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->headers.destination, rig_.first_lid());
  EXPECT_EQ(sent->headers.destination_qp, wire::infiniband::kServiceQueuePair);
  EXPECT_EQ(sent->headers.qkey, wire::infiniband::kServiceQkey);
  EXPECT_EQ(sent->headers.service_level, 6);
  EXPECT_EQ(sent->headers.partition, 0x7FFF);
  client_.reset();
}

TEST_F(AdministrationClientTest, TheGidFollowsThePrefixOfTheSubnet) {
  wire::infiniband::PortInfo wish = fake::wish_at(*adapter().port(1));
  wish.gid_prefix.set(0xFEC0'0000'0000'0007);
  ASSERT_EQ(adapter().port(1)->set_info(wish), 0);
  Gid expected = fake::gid_of_port(kOwnPort);
  expected[1] = 0xC0;
  expected[7] = 7;
  EXPECT_EQ(client_->own_gid(), expected);
}

}  // namespace
}  // namespace paravane::ipoib
