// The channel is lost and comes back, at any moment: nothing is lost or done twice.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/wire_int.h"
#include "testing/engine_rig.h"
#include "testing/tcp_rig.h"

namespace paravane::fake {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Each;
using verbs::WcStatus;

class TcpLoss : public testing::Test {
 protected:
  void connect() { TcpRig::connect(rig_.a(), *qp_a_, rig_.b(), *qp_b_, attributes_); }
  static std::uint64_t word_of(const std::vector<std::byte>& bytes) {
    Le64 word;
    std::memcpy(&word, bytes.data(), sizeof word);
    return word.get();
  }
  // A little of the work, so that the cut comes in the middle of something.
  void turns(unsigned count, std::int64_t bytes) {
    for (unsigned i = 0; i < count; ++i) rig_.turn({.bytes = bytes, .operations = 8});
  }

  TcpRig rig_;
  verbs::QpAttributes attributes_ = default_attributes();
  std::unique_ptr<EngineQp> qp_a_ = rig_.a().queue_pair();
  std::unique_ptr<EngineQp> qp_b_ = rig_.b().queue_pair();
};

TEST_F(TcpLoss, EveryOperationIsDoneOnceWhateverIsCut) {
  attributes_.timeout = 14;
  connect();
  const EngineBuffer word = rig_.b().buffer(8);
  const EngineBuffer old = rig_.a().buffer(8);
  const EngineBuffer from = rig_.a().buffer(300'000, kEveryRight, 17);
  const EngineBuffer to = rig_.b().buffer(300'000, kEveryRight, 99);
  const EngineBuffer read = rig_.a().buffer(300'000, kEveryRight, 5);
  const EngineBuffer inbox = rig_.b().buffer(64 * 200);
  rig_.a().fill(from, 3);
  constexpr std::uint64_t kRounds = 200;
  std::vector<std::uint64_t> ids;
  std::uint64_t sends = 0;
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    qp_b_->post(receive_request(i, {inbox.sge(i * 64, 64)}));
    qp_a_->post(add_request(ids.emplace_back(4 * i), old.whole(), word.start, word.key, 1));
    qp_a_->post(send_request(ids.emplace_back(4 * i + 1), {from.sge(i, 64)}));
    ++sends;
    if (i % 8 != 0) continue;
    qp_a_->post(write_request(ids.emplace_back(4 * i + 2), {from.whole()}, to.start, to.key));
    qp_a_->post(read_request(ids.emplace_back(4 * i + 3), {read.whole()}, to.start, to.key));
  }
  for (unsigned cuts = 0; cuts < 300 && qp_a_->sends.size() < ids.size(); ++cuts) {
    turns(1 + cuts % 5, 1000 + 3777 * (cuts % 90));
    rig_.cut();
    rig_.join();
  }
  rig_.advance(seconds(1));

  EXPECT_THAT(rig_.losses(0), Each("cut"));
  EXPECT_THAT(rig_.losses(1), Each("cut"));
  ASSERT_EQ(qp_a_->sends.wr_ids(), ids);
  EXPECT_THAT(qp_a_->sends.statuses(), Each(WcStatus::kSuccess));
  EXPECT_EQ(word_of(rig_.b().read(word, 0, 8)), kRounds);
  EXPECT_EQ(word_of(rig_.a().read(old, 0, 8)), kRounds - 1);
  EXPECT_EQ(qp_b_->receives.size(), sends);
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    ASSERT_EQ(qp_b_->receives.at(i).wr_id, i);
    ASSERT_EQ(rig_.b().read(inbox, i * 64, 64), rig_.a().read(from, i, 64)) << i;
  }
  EXPECT_EQ(rig_.b().read(to, 0, 300'000), rig_.a().read(from, 0, 300'000));
  EXPECT_EQ(rig_.a().read(read, 0, 300'000), rig_.a().read(from, 0, 300'000));
  EXPECT_GT(rig_.losses(0).size(), 20u);
}

TEST_F(TcpLoss, AHostThatDoesNotComeBackIsGivenUpAfterTheQueuePairsOwnTime) {
  attributes_.timeout = 16;  // 268 ms
  attributes_.retry_count = 3;
  connect();
  ASSERT_TRUE(rig_.run());
  rig_.cut();
  qp_a_->post(send_request(1, {}));
  rig_.advance(milliseconds(4 * 268 - 10));
  EXPECT_EQ(qp_a_->sends.size(), 0u) << "not before";
  rig_.advance(milliseconds(20));
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
  EXPECT_EQ(qp_a_->state(), verbs::QpState::kError);
  EXPECT_EQ(qp_b_->state(), verbs::QpState::kReadyToSend);
}

TEST_F(TcpLoss, AChannelThatComesBackEndsTheWait) {
  attributes_.timeout = 24;  // 69 s
  connect();
  rig_.cut();
  qp_a_->post(send_request(1, {}));
  qp_b_->post(receive_request(2, {}));
  ASSERT_TRUE(rig_.run());
  rig_.join();
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
  EXPECT_EQ(qp_a_->qp->stats().retries, 0u);
}

TEST_F(TcpLoss, SilenceEndsAChannel) {
  connect();
  // The other host stands still.
  for (int i = 0; i < 40; ++i) {
    rig_.skip_time(milliseconds(100));
    rig_.turn_one(0);
  }
  ASSERT_EQ(rig_.losses(0).size(), 1u);
  EXPECT_THAT(rig_.losses(0).front(), testing::HasSubstr("nothing was received"));
}

TEST_F(TcpLoss, PingsKeepAQuietChannelAlive) {
  connect();
  for (int i = 0; i < 100; ++i) {
    rig_.advance(milliseconds(100));
  }
  EXPECT_TRUE(rig_.losses(0).empty());
  EXPECT_TRUE(rig_.losses(1).empty());
}

TEST_F(TcpLoss, AQueuePairOfAnotherLifeIsNotTheOneThatWasSpokenWith) {
  attributes_.timeout = 10;
  attributes_.retry_count = 1;
  connect();
  qp_b_->post(receive_request(1, {}));
  qp_a_->post(send_request(1, {}));
  ASSERT_TRUE(rig_.run());
  ASSERT_EQ(qp_a_->sends.size(), 1u);
  // The same numbers and addresses, but it has forgotten what was before.
  ASSERT_TRUE(move(*qp_b_->qp, verbs::QpState::kReset, {}));
  EngineRig::bring_up_to(*qp_b_, verbs::QpState::kReadyToSend, rig_.a().gid(), qp_a_->qp->number(),
                         attributes_);
  qp_b_->post(receive_request(2, {}));
  qp_a_->post(send_request(2, {}));
  rig_.advance(seconds(1));
  EXPECT_EQ(qp_a_->sends.statuses(), (std::vector{WcStatus::kSuccess, WcStatus::kRetryExceeded}));
  EXPECT_EQ(qp_b_->receives.size(), 1u);
}

// As when the requester's engine was replaced in between.
TEST_F(TcpLoss, TheLifeThatWasSpokenWithIsTheQueuePairs) {
  attributes_.timeout = 10;
  attributes_.retry_count = 1;
  connect();
  EXPECT_FALSE(qp_a_->qp->peer_life().is_known());
  qp_a_->qp->set_peer_life({.high = 1, .low = 1});
  qp_b_->post(receive_request(1, {}));
  qp_a_->post(send_request(1, {}));
  rig_.advance(seconds(1));
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
  EXPECT_EQ(qp_b_->receives.size(), 0u);
  ASSERT_TRUE(move(*qp_a_->qp, verbs::QpState::kReset, {}));
  EXPECT_FALSE(qp_a_->qp->peer_life().is_known());
  EngineRig::bring_up_to(*qp_a_, verbs::QpState::kReadyToSend, rig_.b().gid(), qp_b_->qp->number(),
                         attributes_);
  qp_a_->post(send_request(2, {}));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(qp_a_->qp->peer_life(), qp_b_->qp->life());
  EXPECT_EQ(qp_b_->receives.size(), 1u);
}

TEST_F(TcpLoss, WhoMovesAwayIsNotReachedAnyMore) {
  attributes_.timeout = 10;
  attributes_.retry_count = 1;
  connect();
  qp_b_->post(receive_request(1, {}));
  qp_b_->post(receive_request(2, {}));
  qp_a_->post(send_request(1, {}));
  ASSERT_TRUE(rig_.run());
  rig_.directory(1).set_segment(verbs::AdapterId{1}, verbs::SegmentId{7});
  qp_a_->post(send_request(2, {}));
  rig_.advance(seconds(1));
  EXPECT_EQ(qp_a_->sends.statuses(), (std::vector{WcStatus::kSuccess, WcStatus::kRetryExceeded}));
  EXPECT_EQ(qp_b_->receives.size(), 1u);
}

TEST_F(TcpLoss, AHostThatTheDirectoryForgetsSpeaksForNobody) {
  attributes_.timeout = 10;
  attributes_.retry_count = 1;
  connect();
  rig_.forget_peer(1);  // b's host does not know a's any more; a's still sends
  qp_b_->post(receive_request(1, {}));
  qp_a_->post(send_request(1, {}));
  rig_.advance(seconds(1));
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
  EXPECT_EQ(qp_b_->receives.size(), 0u);
}

TEST_F(TcpLoss, AMessageWhoseSenderDiesInTheMiddleNeverArrives) {
  connect();
  const EngineBuffer from = rig_.a().buffer(1 << 20);
  const EngineBuffer to = rig_.b().buffer(1 << 20);
  rig_.a().fill(from, 9);
  for (const unsigned after : {1u, 2u, 3u, 5u}) {
    auto qp_a = rig_.a().queue_pair();
    const auto qp_b = rig_.b().queue_pair();
    TcpRig::connect(rig_.a(), *qp_a, rig_.b(), *qp_b, attributes_);
    qp_b->post(receive_request(1, {to.whole()}));
    qp_a->post(send_request(1, {from.whole()}));
    turns(after, 50'000);
    qp_a.reset();
    ASSERT_TRUE(rig_.run());
    EXPECT_EQ(qp_b->receives.size(), 0u) << after;
    EXPECT_EQ(qp_b->state(), verbs::QpState::kReadyToSend);
  }
  EXPECT_TRUE(rig_.losses(0).empty());
  EXPECT_TRUE(rig_.losses(1).empty());
}

TEST_F(TcpLoss, AReaderOfMemoryThatGoesAwayHearsOfIt) {
  connect();
  const EngineBuffer to = rig_.a().buffer(1 << 20);
  const EngineBuffer from = rig_.b().buffer(1 << 20);
  qp_a_->post(read_request(1, {to.whole()}, from.start, from.key));
  turns(3, 50'000);
  ASSERT_TRUE(rig_.b().adapter().regions().remove(from.key));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kRemoteAccessError});
  EXPECT_TRUE(rig_.losses(0).empty());
}

TEST_F(TcpLoss, AWriterWhoseMemoryGoesAwayFailsAlone) {
  connect();
  const EngineBuffer from = rig_.a().buffer(1 << 20);
  const EngineBuffer to = rig_.b().buffer(1 << 20);
  const auto other_a = rig_.a().queue_pair();
  const auto other_b = rig_.b().queue_pair();
  TcpRig::connect(rig_.a(), *other_a, rig_.b(), *other_b, attributes_);
  qp_a_->post(write_request(1, {from.whole()}, to.start, to.key));
  turns(3, 50'000);
  ASSERT_TRUE(rig_.a().adapter().regions().remove(from.key));
  other_b->post(receive_request(1, {}));
  other_a->post(send_request(1, {}));
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kLocalProtectionError});
  EXPECT_EQ(other_a->sends.statuses(), std::vector{WcStatus::kSuccess});
  EXPECT_TRUE(rig_.losses(0).empty());
}

TEST_F(TcpLoss, OneSlowQueuePairHoldsUpNobody) {
  connect();
  const auto other_a = rig_.a().queue_pair();
  const auto other_b = rig_.b().queue_pair();
  TcpRig::connect(rig_.a(), *other_a, rig_.b(), *other_b, attributes_);
  const EngineBuffer from = rig_.a().buffer(1 << 20);
  // No receive is posted for any of these.
  for (std::uint64_t i = 0; i < 20; ++i) qp_a_->post(send_request(i, {from.whole()}));
  for (std::uint64_t i = 0; i < 100; ++i) {
    other_b->post(receive_request(i, {}));
    other_a->post(send_request(i, {}));
  }
  ASSERT_TRUE(rig_.run());
  EXPECT_EQ(other_a->sends.size(), 100u);
  EXPECT_EQ(qp_a_->sends.size(), 0u);
}

}  // namespace
}  // namespace paravane::fake
