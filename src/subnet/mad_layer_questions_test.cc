// What the agents of a port ask: the answers that are theirs, and time.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include "subnet/mad_layer_test.h"
#include "testing/management_datagrams.h"

namespace paravane::subnet {
namespace {

using namespace std::chrono_literals;
namespace attribute = wire::infiniband::attribute;
namespace management_class = wire::infiniband::management_class;
namespace method = wire::infiniband::method;
using fake::directed;
using fake::get_of;
using wire::infiniband::kMadBytes;
using wire::infiniband::PerformancePacket;

// ---- Answers ----

TEST_F(MadLayerTest, AnAnswerReachesTheAgentThatAsked) {
  const AgentId other = registered(wish_for(management_class::kSubnetAdministration, {1, 2}));
  const AgentId agent = registered(wish_for(management_class::kSubnetAdministration));
  ASSERT_TRUE(send(agent, mad_with(management_class::kSubnetAdministration, method::kGet, 9), 1s)
                  .has_value());
  arrive(answer_to_last());
  ASSERT_EQ(agent_.heard.size(), 1u);
  EXPECT_EQ(agent_.heard[0].agent, agent);
  EXPECT_NE(agent_.heard[0].agent, other);
  EXPECT_EQ(agent_.heard[0].address.lid, kPeerLid);
  EXPECT_EQ(agent_.heard[0].address.qp, 1u);
  EXPECT_EQ(agent_.heard[0].mad.size(), kMadBytes);
  // Once.
  arrive(answer_to_last());
  EXPECT_EQ(agent_.heard.size(), 1u);
  clock_.now += 10s;
  layer_.on_time(clock_.now);
  EXPECT_TRUE(agent_.unanswered.empty());
}

TEST_F(MadLayerTest, AnAnswerThatNothingAskedForIsDropped) {
  const AgentId agent = registered(wish_for(management_class::kSubnetAdministration, {1, 2, 3}));
  ASSERT_TRUE(send(agent, mad_with(management_class::kSubnetAdministration, method::kGet, 9), 1s)
                  .has_value());
  PerformancePacket answer = answer_to_last();
  const std::uint64_t right = answer.header.transaction.get();
  for (const std::uint64_t wrong :
       {right + 1, right ^ (std::uint64_t{1} << 32), right & 0xFFFF'FFFF, std::uint64_t{0}}) {
    answer.header.transaction.set(wrong);
    arrive(answer);
  }
  EXPECT_TRUE(agent_.heard.empty());
  // One that was sent without a time to wait has no answer either.
  ASSERT_TRUE(
      send(agent, mad_with(management_class::kSubnetAdministration, method::kGet, 10)).has_value());
  arrive(answer_to_last());
  EXPECT_TRUE(agent_.heard.empty());
  EXPECT_TRUE(outlet_.sent.size() == 2);  // nor is it answered
  answer.header.transaction.set(right);
  arrive(answer);
  EXPECT_EQ(agent_.heard.size(), 1u);
}

TEST_F(MadLayerTest, AnAnswerOfAnotherNodeIsNoAnswer) {
  const AgentId agent = registered(wish_for(management_class::kSubnetAdministration));
  ASSERT_TRUE(send(agent, mad_with(management_class::kSubnetAdministration, method::kGet, 9), 1s)
                  .has_value());
  arrive(answer_to_last(), fake::service_headers(kPeerLid + 1, 0x20));
  EXPECT_TRUE(agent_.heard.empty());
  arrive(answer_to_last());
  EXPECT_EQ(agent_.heard.size(), 1u) << "the question was open yet";
}

// Through queue pair 1, which all reach, no answer of subnet management comes.
TEST_F(MadLayerTest, AnAnswerOfAnotherClassIsNoAnswer) {
  const AgentId manager = registered(wish_for(management_class::kSubnetByRoute));
  ASSERT_TRUE(send(manager, directed(get_of(attribute::kNodeInfo), {1, 2}), 1s).has_value());
  PerformancePacket forged = answer_to_last();
  forged.header.management_class = management_class::kSubnetAdministration;
  arrive(forged);
  EXPECT_TRUE(agent_.heard.empty());
  clock_.now += 1s;
  layer_.on_time(clock_.now);
  EXPECT_EQ(agent_.unanswered.size(), 1u);  // it still waited for the right one
}

TEST_F(MadLayerTest, ABoundedNumberIsSentAgainInATurn) {
  const AgentId agent = registered(wish_for(management_class::kSubnetAdministration));
  constexpr std::size_t kAsked = 3 * MadLayer::kMostDue / 2;
  for (std::size_t i = 0; i < kAsked; ++i) {
    ASSERT_TRUE(
        send(agent, mad_with(management_class::kSubnetAdministration, method::kGet, i), 1s, 1)
            .has_value());
  }
  outlet_.sent.clear();
  clock_.now += 1s;
  layer_.on_time(clock_.now);
  EXPECT_EQ(outlet_.sent.size(), MadLayer::kMostDue);
  EXPECT_LE(layer_.next_deadline(), clock_.now);  // the next turn is at once
  layer_.on_time(clock_.now);
  EXPECT_EQ(outlet_.sent.size(), kAsked);
  EXPECT_GT(layer_.next_deadline(), clock_.now);
  clock_.now += 1s;
  layer_.on_time(clock_.now);
  EXPECT_EQ(agent_.unanswered.size(), MadLayer::kMostDue);
  layer_.on_time(clock_.now);
  EXPECT_EQ(agent_.unanswered.size(), kAsked);
}

TEST_F(MadLayerTest, AnAgentThatHasGoneGetsNoAnswer) {
  const AgentId agent = registered(wish_for(management_class::kSubnetAdministration));
  ASSERT_TRUE(
      send(agent, mad_with(management_class::kSubnetAdministration, method::kGet), 1s).has_value());
  layer_.unregister(agent);
  arrive(answer_to_last());
  clock_.now += 10s;
  layer_.on_time(clock_.now);
  EXPECT_TRUE(agent_.heard.empty());
  EXPECT_TRUE(agent_.unanswered.empty());
}

TEST_F(MadLayerTest, ATransactionThatWaitsIsNotAskedTwice) {
  const AgentId agent = registered(wish_for(management_class::kSubnetAdministration));
  const PerformancePacket mad = mad_with(management_class::kSubnetAdministration, method::kGet, 9);
  ASSERT_TRUE(send(agent, mad, 1s).has_value());
  EXPECT_EQ(send(agent, mad, 1s).error(), SendRefusal::kNoRoom);
  EXPECT_EQ(outlet_.sent.size(), 1u);
}

// ---- Time ----

TEST_F(MadLayerTest, AsksAgainAndThenGivesUp) {
  const AgentId agent = registered(wish_for(management_class::kSubnetAdministration));
  ASSERT_TRUE(
      send(agent, mad_with(management_class::kSubnetAdministration, method::kGet, 9), 100ms, 2)
          .has_value());
  EXPECT_EQ(layer_.next_deadline(), clock_.now + 100ms);
  for (const std::size_t tries : {2U, 3U}) {
    clock_.now += 100ms;
    layer_.on_time(clock_.now);
    ASSERT_EQ(outlet_.sent.size(), tries);
    EXPECT_EQ(outlet_.sent.back().mad.header.transaction,
              outlet_.sent.front().mad.header.transaction);
    EXPECT_EQ(outlet_.sent.back().headers, outlet_.sent.front().headers);
    EXPECT_TRUE(agent_.unanswered.empty());
  }
  clock_.now += 100ms;
  layer_.on_time(clock_.now);
  EXPECT_EQ(outlet_.sent.size(), 3u);
  ASSERT_EQ(agent_.unanswered.size(), 1u);
  EXPECT_EQ(agent_.unanswered[0].agent, agent);
  EXPECT_EQ(agent_.unanswered[0].address.lid, kPeerLid);
  EXPECT_EQ(agent_.unanswered[0].header().transaction.get() & 0xFFFF'FFFF, 9u);
  arrive(answer_to_last());  // late
  EXPECT_TRUE(agent_.heard.empty());
}

TEST_F(MadLayerTest, AnAnswerToASecondTryIsOne) {
  const AgentId agent = registered(wish_for(management_class::kSubnetAdministration));
  ASSERT_TRUE(
      send(agent, mad_with(management_class::kSubnetAdministration, method::kGet, 9), 100ms, 2)
          .has_value());
  clock_.now += 150ms;
  layer_.on_time(clock_.now);
  arrive(answer_to_last());
  EXPECT_EQ(agent_.heard.size(), 1u);
  clock_.now += 10s;
  layer_.on_time(clock_.now);
  EXPECT_EQ(outlet_.sent.size(), 2u);
}

TEST_F(MadLayerTest, AnAgentMayAskFromWithinItsCall) {
  const AgentId agent = registered(wish_for(management_class::kSubnetAdministration));
  const auto ask = [this, agent](std::uint64_t transaction) {
    return send(agent, mad_with(management_class::kSubnetAdministration, method::kGet, transaction),
                100ms);
  };
  std::uint64_t next = 10;
  agent_.then = [&] { EXPECT_TRUE(ask(next++).has_value()); };
  ASSERT_TRUE(ask(9).has_value());
  arrive(answer_to_last());
  EXPECT_EQ(outlet_.sent.size(), 2u);
  clock_.now += 100ms;
  layer_.on_time(clock_.now);
  EXPECT_EQ(outlet_.sent.size(), 3u);
}

}  // namespace
}  // namespace paravane::subnet
