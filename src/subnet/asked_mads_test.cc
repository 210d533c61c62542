#include "subnet/asked_mads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "wire/infiniband/local_route.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::subnet {
namespace {

using namespace std::chrono_literals;

constexpr Instant kAskedAt{1000s};
constexpr AgentId kAsker{5};
constexpr AgentId kOtherAsker{6};
const MadAddress kThere{.lid = 7};  // where all is asked

AskedMad asked_by(AgentId agent, Duration timeout = 1s, unsigned retries = 0) {
  return {.agent = agent,
          .to = {.lid = 7},
          .mad = std::vector<std::byte>(256),
          .timeout = timeout,
          .retries = retries};
}

std::uint64_t number_of(AgentId agent, std::uint64_t number) {
  return (std::uint64_t{std::to_underlying(agent)} << 32) | number;
}

TEST(AskedMadsTest, AnAnswerFindsWhatWasAskedOnce) {
  AskedMads asked;
  EXPECT_TRUE(asked.add(number_of(kAsker, 10), asked_by(kAsker), kAskedAt));
  EXPECT_TRUE(asked.add(number_of(kOtherAsker, 11), asked_by(kOtherAsker), kAskedAt));
  EXPECT_EQ(asked.size(), 2u);
  const auto found = asked.take(number_of(kAsker, 10), 0, kThere);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ((*found)->agent, kAsker);
  EXPECT_EQ((*found)->to.lid, 7);
  EXPECT_FALSE(asked.take(number_of(kAsker, 10), 0, kThere).has_value());
  EXPECT_FALSE(asked.take(number_of(kAsker, 12), 0, kThere).has_value());
  EXPECT_EQ(asked.size(), 1u);
}

TEST(AskedMadsTest, AnAnswerIsOfTheClassThatWasAsked) {
  AskedMads asked;
  AskedMad mad = asked_by(kAsker);
  mad.mad[1] = std::byte{4};
  EXPECT_TRUE(asked.add(number_of(kAsker, 10), mad, kAskedAt));
  EXPECT_FALSE(asked.take(number_of(kAsker, 10), 0, kThere).has_value());
  EXPECT_FALSE(asked.take(number_of(kAsker, 10), 0x81, kThere).has_value());
  EXPECT_TRUE(asked.take(number_of(kAsker, 10), 4, kThere).has_value());
}

TEST(AskedMadsTest, AnAnswerComesFromWhereItWasAsked) {
  AskedMads asked;
  const auto is_answer = [&asked](std::uint8_t a_class, const MadAddress& to,
                                  const MadAddress& from) {
    AskedMad mad = asked_by(kAsker);
    mad.to = to;
    mad.mad[1] = std::byte{a_class};
    EXPECT_TRUE(asked.add(number_of(kAsker, 10), mad, kAskedAt));
    const bool was_taken = asked.take(number_of(kAsker, 10), a_class, from).has_value();
    EXPECT_EQ(asked.take_back(number_of(kAsker, 10)).has_value(), !was_taken);
    return was_taken;
  };
  constexpr std::uint8_t kService = 3;
  EXPECT_TRUE(is_answer(kService, {.lid = 7, .qp = 1}, {.lid = 7, .qp = 1}));
  EXPECT_FALSE(is_answer(kService, {.lid = 7, .qp = 1}, {.lid = 8, .qp = 1}));
  EXPECT_FALSE(is_answer(kService, {.lid = 7, .qp = 1}, {.lid = 7, .qp = 2}));
  const auto with_gid = [](std::uint8_t last) {
    MadAddress address{.lid = 7, .qp = 1};
    address.global = wire::infiniband::GlobalRoute{.destination = {0xFE, 0x80, last}};
    return address;
  };
  EXPECT_TRUE(is_answer(kService, with_gid(1), with_gid(1)));
  EXPECT_FALSE(is_answer(kService, with_gid(1), with_gid(2)));
  EXPECT_FALSE(is_answer(kService, with_gid(1), {.lid = 7, .qp = 1}));
  EXPECT_TRUE(is_answer(kService, {.lid = 7, .qp = 1}, with_gid(1))) << "none was asked";
  // Subnet management: by LID, which may be that of whatever is next, and by route.
  constexpr std::uint16_t kNext = wire::infiniband::kPermissiveLid;
  EXPECT_TRUE(is_answer(1, {.lid = 7, .qp = 5}, {.lid = 7}));
  EXPECT_FALSE(is_answer(1, {.lid = 7}, {.lid = 8}));
  EXPECT_TRUE(is_answer(1, {.lid = kNext}, {.lid = 8}));
}

// A forged answer has another route than the request, or does not come from its end.
TEST(AskedMadsTest, AnAnswerByADirectedRouteHasTheRequestsRoute) {
  constexpr std::uint8_t kByRoute = wire::infiniband::management_class::kSubnetByRoute;
  wire::infiniband::SubnetManagementPacket request;
  request.header.management_class = kByRoute;
  request.header.class_specific.set(0x0003);
  request.source.set(wire::infiniband::kPermissiveLid);
  request.destination.set(wire::infiniband::kPermissiveLid);
  for (std::uint8_t hop = 1; hop <= 4; ++hop) request.initial_path[hop] = hop;
  const auto is_answer = [&request](auto&& change) {
    AskedMads asked;
    AskedMad mad = asked_by(kAsker);
    mad.to = {.lid = wire::infiniband::kPermissiveLid};
    std::memcpy(mad.mad.data(), &request, sizeof request);
    EXPECT_TRUE(asked.add(number_of(kAsker, 10), mad, kAskedAt));
    wire::infiniband::SubnetManagementPacket answer = request;
    change(answer);
    return asked
        .take(number_of(kAsker, 10), kByRoute, {.lid = 9}, std::as_bytes(std::span(&answer, 1)))
        .has_value();
  };
  using Smp = wire::infiniband::SubnetManagementPacket;
  EXPECT_TRUE(is_answer([](Smp& answer) { answer.return_path[1] = 7; }));
  EXPECT_TRUE(is_answer([](Smp& answer) { answer.header.class_specific.set(0x0103); }));
  EXPECT_TRUE(is_answer([](Smp& answer) { answer.initial_path[4] = 9; })) << "beyond its end";
  EXPECT_FALSE(is_answer([](Smp& answer) { answer.header.class_specific.set(0x0002); }));
  EXPECT_FALSE(is_answer([](Smp& answer) { answer.initial_path[3] = 9; }));
  EXPECT_FALSE(is_answer([](Smp& answer) { answer.initial_path[1] = 9; }));
  EXPECT_FALSE(is_answer([](Smp& answer) { answer.source.set(4); }));
  EXPECT_FALSE(is_answer([](Smp& answer) { answer.destination.set(4); }));
}

TEST(AskedMadsTest, ATransactionIsAskedOnceAtATime) {
  AskedMads asked;
  EXPECT_TRUE(asked.add(number_of(kAsker, 10), asked_by(kAsker), kAskedAt));
  EXPECT_FALSE(asked.add(number_of(kAsker, 10), asked_by(kAsker), kAskedAt));
  EXPECT_TRUE(asked.take(number_of(kAsker, 10), 0, kThere).has_value());
  EXPECT_TRUE(asked.add(number_of(kAsker, 10), asked_by(kAsker), kAskedAt));
}

TEST(AskedMadsTest, AnAgentWaitsForABoundedNumber) {
  AskedMads asked;
  for (std::uint64_t i = 0; i < AskedMads::kMostOfAgent; ++i)
    ASSERT_TRUE(asked.add(number_of(kAsker, i), asked_by(kAsker), kAskedAt));
  EXPECT_FALSE(asked.add(number_of(kAsker, 1 << 20), asked_by(kAsker), kAskedAt));
  EXPECT_TRUE(asked.add(number_of(kOtherAsker, 1 << 20), asked_by(kOtherAsker), kAskedAt));
  EXPECT_TRUE(asked.take(number_of(kAsker, 3), 0, kThere).has_value());
  EXPECT_TRUE(asked.add(number_of(kAsker, 3), asked_by(kAsker), kAskedAt));
  asked.forget(kAsker);
  EXPECT_EQ(asked.size(), 1u);
  EXPECT_TRUE(asked.add(number_of(kAsker, 3), asked_by(kAsker), kAskedAt));
}

TEST(AskedMadsTest, AllAgentsTogetherWaitForABoundedNumber) {
  AskedMads asked;
  for (std::uint32_t i = 0; i < AskedMads::kMost; ++i) {
    const AgentId agent{1 + i / static_cast<std::uint32_t>(AskedMads::kMostOfAgent)};
    ASSERT_TRUE(asked.add(number_of(agent, i), asked_by(agent), kAskedAt));
  }
  EXPECT_FALSE(asked.add(number_of(AgentId{99}, 0), asked_by(AgentId{99}), kAskedAt));
  EXPECT_TRUE(asked.take(number_of(AgentId{1}, 0), 0, kThere).has_value());
  EXPECT_TRUE(asked.add(number_of(AgentId{99}, 0), asked_by(AgentId{99}), kAskedAt));
}

TEST(AskedMadsTest, IsGivenUpAfterItsTime) {
  AskedMads asked;
  EXPECT_EQ(asked.next_deadline(), kNever);
  EXPECT_TRUE(asked.add(number_of(kAsker, 10), asked_by(kAsker), kAskedAt));
  EXPECT_EQ(asked.next_deadline(), kAskedAt + 1s);
  EXPECT_FALSE(asked.next_due(kAskedAt + 1s - 1ns).has_value());
  const auto due = asked.next_due(kAskedAt + 1s);
  ASSERT_TRUE(due.has_value());
  EXPECT_FALSE(due->again);
  EXPECT_EQ(due->asked.agent, kAsker);
  EXPECT_EQ(asked.size(), 0u);
  EXPECT_FALSE(asked.next_due(kAskedAt + 10s).has_value());
  EXPECT_EQ(asked.next_deadline(), kNever);
}

TEST(AskedMadsTest, IsSentAgainAsOftenAsWasAskedFor) {
  AskedMads asked;
  EXPECT_TRUE(asked.add(number_of(kAsker, 10), asked_by(kAsker, 1s, 2), kAskedAt));
  for (const int again : {1, 2}) {
    const auto due = asked.next_due(kAskedAt + again * 1s);
    ASSERT_TRUE(due.has_value());
    EXPECT_TRUE(due->again);
    EXPECT_EQ(due->asked.mad.size(), 256u);
    EXPECT_FALSE(asked.next_due(kAskedAt + again * 1s).has_value());
    EXPECT_EQ(asked.next_deadline(), kAskedAt + (again + 1) * 1s);
  }
  const auto last = asked.next_due(kAskedAt + 3s);
  ASSERT_TRUE(last.has_value());
  EXPECT_FALSE(last->again);
}

TEST(AskedMadsTest, ATryBeginsWhenItIsSent) {
  AskedMads asked;
  EXPECT_TRUE(asked.add(number_of(kAsker, 10), asked_by(kAsker, 1s, 5), kAskedAt));
  // Late, and still no more than one try.
  EXPECT_TRUE(asked.next_due(kAskedAt + 60s).has_value());
  EXPECT_FALSE(asked.next_due(kAskedAt + 60s).has_value());
  EXPECT_EQ(asked.next_deadline(), kAskedAt + 61s);
}

TEST(AskedMadsTest, WhatWasAnsweredIsNotSentAgain) {
  AskedMads asked;
  EXPECT_TRUE(asked.add(number_of(kAsker, 10), asked_by(kAsker, 1s, 5), kAskedAt));
  EXPECT_TRUE(asked.take(number_of(kAsker, 10), 0, kThere).has_value());
  EXPECT_FALSE(asked.next_due(kAskedAt + 1s).has_value());
  // Nor at the time of the first, if it is asked anew.
  EXPECT_TRUE(asked.add(number_of(kAsker, 10), asked_by(kAsker, 3s), kAskedAt));
  EXPECT_FALSE(asked.next_due(kAskedAt + 1s).has_value());
  EXPECT_TRUE(asked.next_due(kAskedAt + 3s).has_value());
}

TEST(AskedMadsTest, ATimeThatIsTooShortIsMadeLonger) {
  AskedMads asked;
  EXPECT_TRUE(asked.add(number_of(kAsker, 10), asked_by(kAsker, 1ns, 64), kAskedAt));
  EXPECT_FALSE(asked.next_due(kAskedAt + 9ms).has_value());
  EXPECT_TRUE(asked.next_due(kAskedAt + 10ms).has_value());
  EXPECT_FALSE(asked.next_due(kAskedAt + 10ms).has_value());
}

TEST(AskedMadsTest, AnAgentThatGoesIsForgotten) {
  AskedMads asked;
  EXPECT_TRUE(asked.add(number_of(kAsker, 10), asked_by(kAsker), kAskedAt));
  EXPECT_TRUE(asked.add(number_of(kOtherAsker, 11), asked_by(kOtherAsker), kAskedAt));
  asked.forget(kAsker);
  EXPECT_FALSE(asked.take(number_of(kAsker, 10), 0, kThere).has_value());
  const auto due = asked.next_due(kAskedAt + 1s);
  ASSERT_TRUE(due.has_value());
  EXPECT_EQ(due->asked.agent, kOtherAsker);
  EXPECT_FALSE(asked.next_due(kAskedAt + 1s).has_value());
}

TEST(AskedMadsTest, WhatCouldNotBeToldWaitsAsBefore) {
  AskedMads asked;
  EXPECT_TRUE(asked.add(number_of(kAsker, 10), asked_by(kAsker), kAskedAt));
  asked.put_back(*asked.take(number_of(kAsker, 10), 0, kThere));
  EXPECT_EQ(asked.next_deadline(), kAskedAt + 1s);
  auto due = asked.next_due(kAskedAt + 1s);
  ASSERT_TRUE(due && due->given_up);
  EXPECT_EQ(asked.size(), 0u);
  asked.put_back(std::move(*due->given_up));
  EXPECT_EQ(asked.next_deadline(), kAskedAt + 1s);
  EXPECT_TRUE(asked.next_due(kAskedAt + 1s).has_value());
}

TEST(AskedMadsTest, NothingIsPutBackForAnAgentThatHasGoneOrAskedTheSameAgain) {
  AskedMads asked;
  EXPECT_TRUE(asked.add(number_of(kAsker, 10), asked_by(kAsker), kAskedAt));
  auto first = asked.take(number_of(kAsker, 10), 0, kThere);
  EXPECT_TRUE(asked.add(number_of(kAsker, 10), asked_by(kAsker, 5s), kAskedAt));
  asked.put_back(std::move(*first));
  EXPECT_EQ(asked.next_deadline(), kAskedAt + 5s);
  auto second = asked.take(number_of(kAsker, 10), 0, kThere);
  asked.forget(kAsker);
  asked.put_back(std::move(*second));
  EXPECT_EQ(asked.size(), 0u);
  EXPECT_EQ(asked.next_deadline(), kNever);
}

// A program that asks with long times and is answered at once would otherwise use more and more
// memory.
TEST(AskedMadsTest, WhatWasAnsweredLeavesNothing) {
  AskedMads asked;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(asked.add(number_of(kAsker, i), asked_by(kAsker, 600s, 64), kAskedAt));
    ASSERT_TRUE(asked.take(number_of(kAsker, i), 0, kThere).has_value());
  }
  EXPECT_EQ(asked.next_deadline(), kNever);
  EXPECT_TRUE(asked.add(number_of(kAsker, 1), asked_by(kAsker, 600s), kAskedAt));
  asked.forget(kAsker);
  EXPECT_EQ(asked.next_deadline(), kNever);
}

}  // namespace
}  // namespace paravane::subnet
