#include "subnet/asked_mads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace paravane::subnet {
namespace {

using namespace std::chrono_literals;

constexpr Instant kAskedAt{1000s};
constexpr AgentId kAsker{5};
constexpr AgentId kOtherAsker{6};

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
  const auto found = asked.take(number_of(kAsker, 10), 0);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ((*found)->agent, kAsker);
  EXPECT_EQ((*found)->to.lid, 7);
  EXPECT_FALSE(asked.take(number_of(kAsker, 10), 0).has_value());
  EXPECT_FALSE(asked.take(number_of(kAsker, 12), 0).has_value());
  EXPECT_EQ(asked.size(), 1u);
}

TEST(AskedMadsTest, AnAnswerIsOfTheClassThatWasAsked) {
  AskedMads asked;
  AskedMad mad = asked_by(kAsker);
  mad.mad[1] = std::byte{4};
  EXPECT_TRUE(asked.add(number_of(kAsker, 10), mad, kAskedAt));
  EXPECT_FALSE(asked.take(number_of(kAsker, 10), 0).has_value());
  EXPECT_FALSE(asked.take(number_of(kAsker, 10), 0x81).has_value());
  EXPECT_TRUE(asked.take(number_of(kAsker, 10), 4).has_value());
}

TEST(AskedMadsTest, ATransactionIsAskedOnceAtATime) {
  AskedMads asked;
  EXPECT_TRUE(asked.add(number_of(kAsker, 10), asked_by(kAsker), kAskedAt));
  EXPECT_FALSE(asked.add(number_of(kAsker, 10), asked_by(kAsker), kAskedAt));
  EXPECT_TRUE(asked.take(number_of(kAsker, 10), 0).has_value());
  EXPECT_TRUE(asked.add(number_of(kAsker, 10), asked_by(kAsker), kAskedAt));
}

TEST(AskedMadsTest, AnAgentWaitsForABoundedNumber) {
  AskedMads asked;
  for (std::uint64_t i = 0; i < AskedMads::kMostOfAgent; ++i)
    ASSERT_TRUE(asked.add(number_of(kAsker, i), asked_by(kAsker), kAskedAt));
  EXPECT_FALSE(asked.add(number_of(kAsker, 1 << 20), asked_by(kAsker), kAskedAt));
  EXPECT_TRUE(asked.add(number_of(kOtherAsker, 1 << 20), asked_by(kOtherAsker), kAskedAt));
  EXPECT_TRUE(asked.take(number_of(kAsker, 3), 0).has_value());
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
  EXPECT_TRUE(asked.take(number_of(AgentId{1}, 0), 0).has_value());
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
  EXPECT_TRUE(asked.take(number_of(kAsker, 10), 0).has_value());
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
  EXPECT_FALSE(asked.take(number_of(kAsker, 10), 0).has_value());
  const auto due = asked.next_due(kAskedAt + 1s);
  ASSERT_TRUE(due.has_value());
  EXPECT_EQ(due->asked.agent, kOtherAsker);
  EXPECT_FALSE(asked.next_due(kAskedAt + 1s).has_value());
}

TEST(AskedMadsTest, WhatCouldNotBeToldWaitsAsBefore) {
  AskedMads asked;
  EXPECT_TRUE(asked.add(number_of(kAsker, 10), asked_by(kAsker), kAskedAt));
  asked.put_back(*asked.take(number_of(kAsker, 10), 0));
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
  auto first = asked.take(number_of(kAsker, 10), 0);
  EXPECT_TRUE(asked.add(number_of(kAsker, 10), asked_by(kAsker, 5s), kAskedAt));
  asked.put_back(std::move(*first));
  EXPECT_EQ(asked.next_deadline(), kAskedAt + 5s);
  auto second = asked.take(number_of(kAsker, 10), 0);
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
    ASSERT_TRUE(asked.take(number_of(kAsker, i), 0).has_value());
  }
  EXPECT_EQ(asked.next_deadline(), kNever);
  EXPECT_TRUE(asked.add(number_of(kAsker, 1), asked_by(kAsker, 600s), kAskedAt));
  asked.forget(kAsker);
  EXPECT_EQ(asked.next_deadline(), kNever);
}

}  // namespace
}  // namespace paravane::subnet
