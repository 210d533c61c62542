// A host asks the others to wait for it, its channel ends, and another one takes its place: nothing
// is lost or done twice, and no retry is spent. What it may ask for is bounded.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/wire_int.h"
#include "testing/engine_rig.h"
#include "testing/tcp_rig.h"
#include "transport/channel/holds.h"

namespace paravane::fake {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Each;
using testing::ElementsAre;
using transport_channel::Holds;
using transport_channel::PeerHold;
using verbs::WcStatus;
using Answer = PeerHold::Answer;

// a() is on host 0, which has requests; b() on host 1, which changes its engine.
class ChannelHolds : public testing::Test {
 protected:
  ChannelHolds() {
    attributes_.timeout = 14;  // 67 ms: 0.54 s with all retries
    attributes_.retry_count = 7;
    TcpRig::connect(rig_.a(), *qp_a_, rig_.b(), *qp_b_, attributes_);
  }
  void hold(Duration time) {
    rig_.tcp(1).hold_peers(time);
    ASSERT_TRUE(rig_.run());
  }
  Answer answer() const { return rig_.tcp(1).peer_holds().at(0).answer; }
  std::uint64_t retries() const { return qp_a_->qp->stats().retries; }
  std::uint64_t word(const EngineBuffer& buffer) {
    Le64 value;
    const std::vector<std::byte> bytes = rig_.b().read(buffer, 0, 8);
    std::memcpy(&value, bytes.data(), sizeof value);
    return value.get();
  }

  mutable TcpRig rig_;
  verbs::QpAttributes attributes_ = default_attributes();
  std::unique_ptr<EngineQp> qp_a_ = rig_.a().queue_pair();
  std::unique_ptr<EngineQp> qp_b_ = rig_.b().queue_pair();
};

TEST_F(ChannelHolds, RequestsWaitTwentySecondsForAHeldHost) {
  const EngineBuffer counter = rig_.b().buffer(8);
  const EngineBuffer old = rig_.a().buffer(8 * 64);
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = 0; i < 40; ++i) {
    qp_a_->post(add_request(ids.emplace_back(i), old.sge(8 * i, 8), counter.start, counter.key, 1));
  }
  // Some of them are under way, some were executed, and of those not all are answered.
  for (int i = 0; i < 3; ++i) rig_.turn({.bytes = 400, .operations = 4});
  rig_.tcp(1).hold_peers(seconds(25));
  for (int i = 0; i < 12; ++i) rig_.turn({.bytes = 400, .operations = 4});
  ASSERT_EQ(answer(), Answer::kWaits);
  rig_.cut();
  qp_a_->post(add_request(ids.emplace_back(40), old.sge(8 * 40, 8), counter.start, counter.key, 1));
  rig_.advance(seconds(20));
  EXPECT_THAT(qp_a_->sends.statuses(), Each(WcStatus::kSuccess));
  EXPECT_LT(qp_a_->sends.size(), ids.size());
  EXPECT_EQ(qp_a_->state(), verbs::QpState::kReadyToSend);

  rig_.join();
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(qp_a_->sends.wr_ids(), ids);
  EXPECT_THAT(qp_a_->sends.statuses(), Each(WcStatus::kSuccess));
  EXPECT_EQ(word(counter), ids.size());
  EXPECT_EQ(retries(), 0u);
}

TEST_F(ChannelHolds, WhatIsUnderWaySpendsNoRetryWhenTheChannelEnds) {
  attributes_.retry_count = 0;
  const auto sender = rig_.a().queue_pair();
  const auto listener = rig_.b().queue_pair();
  TcpRig::connect(rig_.a(), *sender, rig_.b(), *listener, attributes_);
  hold(seconds(10));
  sender->post(write_request(1, {}, 0, 0));
  rig_.turn_one(0);  // it is in the socket
  rig_.cut();
  rig_.advance(seconds(5));
  EXPECT_EQ(sender->sends.size(), 0u);
  rig_.join();
  ASSERT_TRUE(rig_.run());
  EXPECT_THAT(sender->sends.statuses(), ElementsAre(WcStatus::kSuccess));
}

TEST_F(ChannelHolds, AHostThatDoesNotComeIsGivenUpAfterTheBoundAndTheQueuePairsOwnTime) {
  hold(std::chrono::hours(1));
  rig_.cut();
  qp_a_->post(send_request(1, {}));
  rig_.advance(Holds::kMost + milliseconds(8 * 67 - 40));
  EXPECT_EQ(qp_a_->sends.size(), 0u) << "not before";
  rig_.advance(milliseconds(100));
  EXPECT_THAT(qp_a_->sends.statuses(), ElementsAre(WcStatus::kRetryExceeded));
  EXPECT_EQ(retries(), 7u);
}

// As above, but it comes again and again, asks at once, and goes.
TEST_F(ChannelHolds, AHostThatOnlyEverHoldsIsGivenUp) {
  Duration waited{};
  qp_a_->post(write_request(1, {}, 0, 0));
  ASSERT_TRUE(rig_.run());
  while (qp_a_->sends.size() < 2 && waited < seconds(120)) {
    hold(seconds(8));
    rig_.cut();
    if (waited == Duration::zero()) qp_a_->post(send_request(2, {}));
    // It has no receive, so what comes meanwhile does not complete the request.
    rig_.advance(seconds(4));
    waited += seconds(4);
    if (waited >= Holds::kMost + seconds(4)) break;
    rig_.join();
    ASSERT_TRUE(rig_.run());
  }
  EXPECT_GE(waited, Holds::kMost);
  EXPECT_EQ(qp_a_->sends.statuses().back(), WcStatus::kRetryExceeded);
}

TEST_F(ChannelHolds, TheHostsNextHelloEndsTheHold) {
  hold(seconds(25));
  rig_.cut();
  rig_.join();
  ASSERT_TRUE(rig_.run());
  rig_.cut();  // this time without a word
  qp_a_->post(send_request(1, {}));
  rig_.advance(seconds(1));
  EXPECT_THAT(qp_a_->sends.statuses(), ElementsAre(WcStatus::kRetryExceeded));
}

TEST_F(ChannelHolds, AHostThatGoesOnTakesItBack) {
  hold(seconds(25));
  hold(Duration::zero());
  EXPECT_EQ(answer(), Answer::kRefused);
  rig_.cut();
  qp_a_->post(send_request(1, {}));
  rig_.advance(seconds(1));
  EXPECT_THAT(qp_a_->sends.statuses(), ElementsAre(WcStatus::kRetryExceeded));
}

TEST_F(ChannelHolds, TrafficGoesOnWhileTheChannelIsThere) {
  hold(seconds(25));
  qp_b_->post(receive_request(1, {}));
  qp_a_->post(send_request(1, {}));
  ASSERT_TRUE(rig_.run());
  EXPECT_THAT(qp_a_->sends.statuses(), ElementsAre(WcStatus::kSuccess));
}

// A kill -9 says nothing before.
TEST_F(ChannelHolds, ACrashIsNotWaitedFor) {
  rig_.cut();
  qp_a_->post(send_request(1, {}));
  rig_.advance(milliseconds(8 * 68));
  EXPECT_THAT(qp_a_->sends.statuses(), ElementsAre(WcStatus::kRetryExceeded));
}

TEST_F(ChannelHolds, AnswersAreAwaitedUntilTheyCome) {
  rig_.tcp(1).hold_peers(seconds(10));
  EXPECT_EQ(answer(), Answer::kAwaited);
  rig_.turn_one(1);
  EXPECT_EQ(answer(), Answer::kAwaited);
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(answer(), Answer::kWaits);
  rig_.cut();
  EXPECT_TRUE(rig_.tcp(1).peer_holds().empty());
}

TEST_F(ChannelHolds, AHostOfAnEarlierReleaseIsNotAsked) {
  rig_.forbid_holds(0);
  rig_.join();
  ASSERT_TRUE(rig_.run());
  hold(seconds(10));
  EXPECT_EQ(answer(), Answer::kCannot);
  EXPECT_TRUE(rig_.losses(1).size() == 1) << "by join() alone";
  qp_b_->post(receive_request(1, {}));
  qp_a_->post(send_request(1, {}));
  ASSERT_TRUE(rig_.run());
  EXPECT_THAT(qp_a_->sends.statuses(), ElementsAre(WcStatus::kSuccess));
}

TEST_F(ChannelHolds, AHostOfAnEarlierReleaseThatEndsIsNotWaitedFor) {
  rig_.forbid_holds(1);
  rig_.join();
  ASSERT_TRUE(rig_.run());
  hold(seconds(10));
  EXPECT_EQ(answer(), Answer::kCannot);
  rig_.cut();
  qp_a_->post(send_request(1, {}));
  rig_.advance(seconds(1));
  EXPECT_THAT(qp_a_->sends.statuses(), ElementsAre(WcStatus::kRetryExceeded));
}

// It has just taken over, and does not know where the GIDs of other hosts are.
TEST_F(ChannelHolds, AnEngineThatLearnsGidsWaitsForThem) {
  rig_.forget_peer(0);
  rig_.directory(0).set_learning(true);
  qp_a_->post(write_request(1, {}, 0, 0));
  rig_.advance(seconds(5));
  EXPECT_EQ(qp_a_->sends.size(), 0u);
  rig_.know_peer(0);
  rig_.advance(milliseconds(20));
  EXPECT_THAT(qp_a_->sends.statuses(), ElementsAre(WcStatus::kSuccess));
  EXPECT_EQ(retries(), 0u);

  rig_.forget_peer(0);
  rig_.directory(0).set_learning(false);
  qp_a_->post(write_request(2, {}, 0, 0));
  rig_.advance(seconds(1));
  EXPECT_EQ(qp_a_->sends.statuses().back(), WcStatus::kRetryExceeded);
}

}  // namespace
}  // namespace paravane::fake
