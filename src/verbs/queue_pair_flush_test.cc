// What happens to posted work in the states that do not execute it: RTR, SQD,
// SQE and ERR.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/solo_engine.h"
#include "verbs/connection.h"
#include "verbs/queue_pair.h"
#include "verbs/responder.h"

namespace paravane::verbs {
namespace {

using enum QpState;
using fake::default_attributes;
using fake::EngineQp;
using fake::move;
using fake::receive_request;
using fake::send_request;
using fake::SoloEngine;
using fake::write_request;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

SendRequest unsignaled(SendRequest request) {
  request.signaled = false;
  return request;
}

class QueuePairFlushTest : public testing::Test {
 protected:
  QpEvent last_event() { return engine_.vm().events().all().back().second; }
  std::size_t event_count() { return engine_.vm().events().all().size(); }

  SoloEngine engine_;
  std::unique_ptr<EngineQp> qp_ = engine_.ready();
};

TEST_F(QueuePairFlushTest, C69EverythingPostedIsFlushedInOrder) {
  for (std::uint64_t i = 0; i < 200; ++i) {
    qp_->work.post_send(i % 2 == 0 ? send_request(i, {}) : unsignaled(send_request(i, {})));
    qp_->work.post_receive(receive_request(1000 + i, {}));
  }
  ASSERT_TRUE(move(*qp_->qp, kError, {}));  // no doorbell was rung
  engine_.run();

  ASSERT_EQ(qp_->sends.size(), 200u);
  ASSERT_EQ(qp_->receives.size(), 200u);
  for (std::uint64_t i = 0; i < 200; ++i) {
    EXPECT_EQ(qp_->sends.at(i).wr_id, i);
    EXPECT_EQ(qp_->receives.at(i).wr_id, 1000 + i);
    EXPECT_EQ(qp_->receives.at(i).opcode, WcOpcode::kReceive);
  }
  EXPECT_THAT(qp_->sends.statuses(), Each(WcStatus::kFlushed));
  EXPECT_THAT(qp_->receives.statuses(), Each(WcStatus::kFlushed));
  EXPECT_THAT(engine_.transport().submitted(), IsEmpty());
  EXPECT_EQ(event_count(), 0u);  // the guest asked for it
}

TEST_F(QueuePairFlushTest, C69LaterPostsFlushAsWell) {
  ASSERT_TRUE(move(*qp_->qp, kError, {}));
  engine_.run();
  qp_->post(unsignaled(write_request(7, {}, 0, 0)));  // how the kernel drains a queue
  qp_->post(receive_request(8, {}));
  engine_.run();
  EXPECT_THAT(qp_->sends.wr_ids(), ElementsAre(7));
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kFlushed));
  EXPECT_EQ(qp_->sends.at(0).opcode, WcOpcode::kRdmaWrite);
  EXPECT_THAT(qp_->receives.wr_ids(), ElementsAre(8));
}

TEST_F(QueuePairFlushTest, C72OfSharedReceivesOnlyTheOneInHandIsFlushed) {
  fake::ScriptedWork shared;
  const auto qp = engine_.vm().sharing_queue_pair(shared);
  QpAttributes attributes = default_attributes();
  attributes.av.dgid = SoloEngine::kPeer;
  ASSERT_TRUE(fake::bring_up(*qp->qp, kReadyToSend, attributes));
  shared.post_receive(receive_request(1, {}));
  shared.post_receive(receive_request(2, {}));
  ASSERT_TRUE(qp->qp->responder().begin({.opcode = WrOpcode::kSend}, Arrives::kAtOnce));
  ASSERT_TRUE(move(*qp->qp, kError, {}));
  EXPECT_EQ(event_count(), 0u);
  engine_.run();
  EXPECT_THAT(qp->receives.wr_ids(), ElementsAre(1));
  EXPECT_THAT(qp->receives.statuses(), ElementsAre(WcStatus::kFlushed));
  qp->qp->kick();
  engine_.run();
  EXPECT_EQ(shared.receives_left(), 1u);
  EXPECT_THAT(engine_.vm().events().all(),
              ElementsAre(Pair(qp->qp->spec().tag, QpEvent::kLastReceiveReached)));
}

TEST_F(QueuePairFlushTest, RequestUnderWayIsFlushedFirst) {
  for (const auto& answer :
       {std::optional<Outcome>(), std::optional(fake::not_ready(1)), std::optional(kNoAnswer)}) {
    const auto qp = engine_.ready();
    engine_.transport().answer(answer);
    qp->post(send_request(1, {}));
    qp->post(send_request(2, {}));
    engine_.run();
    ASSERT_TRUE(move(*qp->qp, kError, {}));
    engine_.run();
    EXPECT_THAT(qp->sends.wr_ids(), ElementsAre(1, 2));
    EXPECT_THAT(qp->sends.statuses(), Each(WcStatus::kFlushed));
    EXPECT_EQ(engine_.timers().size(), 0u);
  }
  EXPECT_EQ(engine_.transport().cancels(), 1u);
}

TEST_F(QueuePairFlushTest, AbsentSendRingDoesNotHoldUpReceives) {
  qp_->work.set_send_answer(WorkSource::Fetch::kAbsent);
  qp_->work.post_receive(receive_request(1, {}));
  ASSERT_TRUE(move(*qp_->qp, kError, {}));
  engine_.run();
  EXPECT_THAT(qp_->receives.wr_ids(), ElementsAre(1));
}

TEST_F(QueuePairFlushTest, AbsentReceiveRingIsFlushedWhenItReturns) {
  qp_->work.set_receive_answer(WorkSource::Fetch::kAbsent);
  qp_->work.post_receive(receive_request(1, {}));
  qp_->work.post_send(send_request(2, {}));
  ASSERT_TRUE(move(*qp_->qp, kError, {}));
  engine_.advance(std::chrono::milliseconds(5));
  EXPECT_THAT(qp_->sends.wr_ids(), ElementsAre(2));
  EXPECT_EQ(qp_->receives.size(), 0u);
  qp_->work.set_receive_answer(std::nullopt);
  engine_.advance(std::chrono::milliseconds(100));
  EXPECT_THAT(qp_->receives.wr_ids(), ElementsAre(1));
}

TEST_F(QueuePairFlushTest, AReceiveRingThatWasAbsentAndIsEmptyNowIsPresent) {
  ASSERT_TRUE(move(*qp_->qp, kError, {}));
  for (int i = 0; i < 3; ++i) {
    qp_->work.set_receive_answer(WorkSource::Fetch::kAbsent);
    qp_->qp->kick();
    engine_.run();
    qp_->work.set_receive_answer(std::nullopt);
    engine_.advance(std::chrono::milliseconds(1'100));
  }
  qp_->work.post_receive(receive_request(1, {}));
  qp_->qp->kick();
  engine_.run();
  EXPECT_THAT(qp_->receives.wr_ids(), ElementsAre(1));
}

TEST_F(QueuePairFlushTest, RingThatStaysAbsentIsLeftAlone) {
  qp_->work.set_receive_answer(WorkSource::Fetch::kAbsent);
  qp_->work.set_send_answer(WorkSource::Fetch::kAbsent);
  ASSERT_TRUE(move(*qp_->qp, kError, {}));
  engine_.advance(std::chrono::seconds(5));
  EXPECT_EQ(engine_.timers().size(), 0u);
  EXPECT_FALSE(engine_.adapter().has_work());
  EXPECT_LT(qp_->work.receive_looks(), 40u);
  EXPECT_LT(qp_->work.send_looks(), 40u);
}

TEST_F(QueuePairFlushTest, BrokenReceiveRingDoesNotHoldUpSends) {
  qp_->work.set_receive_answer(WorkSource::Fetch::kBroken);
  qp_->work.post_send(send_request(1, {}));
  ASSERT_TRUE(move(*qp_->qp, kError, {}));
  engine_.run();
  EXPECT_THAT(qp_->sends.wr_ids(), ElementsAre(1));
}

TEST_F(QueuePairFlushTest, SendsWaitForRts) {
  const auto qp = engine_.vm().queue_pair();
  QpAttributes attributes = default_attributes();
  attributes.av.dgid = SoloEngine::kPeer;
  ASSERT_TRUE(fake::bring_up(*qp->qp, kReadyToReceive, attributes));
  qp->post(send_request(1, {}));
  engine_.run();
  EXPECT_EQ(qp->work.send_looks(), 0u);
  ASSERT_TRUE(move(*qp->qp, kReadyToSend, attributes));
  engine_.run();
  EXPECT_THAT(qp->sends.statuses(), ElementsAre(WcStatus::kSuccess));
}

TEST_F(QueuePairFlushTest, C70SendsPostedInSqdRunAfterRts) {
  ASSERT_TRUE(move(*qp_->qp, kSendQueueDrain, {}));
  qp_->post(send_request(1, {}));
  engine_.run();
  EXPECT_EQ(qp_->sends.size(), 0u);
  EXPECT_EQ(event_count(), 0u);  // nobody asked

  ASSERT_TRUE(move(*qp_->qp, kReadyToSend, {}));  // without a doorbell
  engine_.run();
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kSuccess));
}

TEST_F(QueuePairFlushTest, SqdEndsTheRequestInProgressThenSaysSo) {
  engine_.transport().answer(std::nullopt);
  qp_->post(send_request(1, {}));
  qp_->post(send_request(2, {}));
  engine_.run();
  QpAttributes attributes;
  attributes.sqd_async_notify = true;
  ASSERT_TRUE(move(*qp_->qp, kSendQueueDrain, attributes, kAttrSqdAsyncNotify));
  engine_.run();
  EXPECT_EQ(event_count(), 0u);

  qp_->qp->on_outcome({}, engine_.now());
  engine_.run();
  EXPECT_THAT(qp_->sends.wr_ids(), ElementsAre(1));
  EXPECT_THAT(engine_.vm().events().all(),
              ElementsAre(Pair(qp_->qp->spec().tag, QpEvent::kSendQueueDrained)));
  EXPECT_EQ(qp_->state(), kSendQueueDrain);
}

TEST_F(QueuePairFlushTest, SqdWithNothingInProgressSaysSoAtOnce) {
  QpAttributes attributes;
  attributes.sqd_async_notify = true;
  ASSERT_TRUE(move(*qp_->qp, kSendQueueDrain, attributes, kAttrSqdAsyncNotify));
  ASSERT_EQ(event_count(), 1u);
  EXPECT_EQ(last_event(), QpEvent::kSendQueueDrained);
  ASSERT_TRUE(move(*qp_->qp, kSendQueueDrain, {}));
  EXPECT_EQ(event_count(), 1u);  // once
}

TEST_F(QueuePairFlushTest, SqdWaitsForRetriesOfTheRequestInProgress) {
  engine_.transport().answer(fake::not_ready(14));
  qp_->post(send_request(1, {}));
  engine_.run();
  QpAttributes attributes;
  attributes.sqd_async_notify = true;
  ASSERT_TRUE(move(*qp_->qp, kSendQueueDrain, attributes, kAttrSqdAsyncNotify));
  EXPECT_EQ(event_count(), 0u);
  engine_.advance(std::chrono::milliseconds(2));
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kSuccess));
  EXPECT_EQ(event_count(), 1u);
}

TEST_F(QueuePairFlushTest, SqdThatFailsGoesToErrorWithoutDraining) {
  engine_.transport().answer(std::nullopt);
  qp_->post(send_request(1, {}));
  engine_.run();
  QpAttributes attributes;
  attributes.sqd_async_notify = true;
  ASSERT_TRUE(move(*qp_->qp, kSendQueueDrain, attributes, kAttrSqdAsyncNotify));
  qp_->qp->on_outcome(fake::refused(WcStatus::kRemoteAccessError), engine_.now());
  EXPECT_EQ(qp_->state(), kError);
  EXPECT_EQ(event_count(), 0u);
}

TEST_F(QueuePairFlushTest, SqdTakesNewAttributesOfTheConnection) {
  ASSERT_TRUE(move(*qp_->qp, kSendQueueDrain, {}));
  QpAttributes attributes = default_attributes();
  attributes.timeout = 1;
  attributes.retry_count = 0;
  attributes.av.dgid = SoloEngine::kPeer;
  attributes.av.sgid_index = 1;
  ASSERT_TRUE(
      move(*qp_->qp, kSendQueueDrain, attributes, kAttrTimeout | kAttrRetryCount | kAttrAddress));
  EXPECT_EQ(qp_->qp->query().timeout, 1);
  EXPECT_EQ(qp_->qp->connection().gid_type(), GidType::kRoceV1);
}

TEST_F(QueuePairFlushTest, FlushIsBoundedByTheBudget) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    qp_->work.post_send(send_request(i, {}));
    qp_->work.post_receive(receive_request(i, {}));
  }
  ASSERT_TRUE(move(*qp_->qp, kError, {}));
  Budget budget{.bytes = 1 << 20, .operations = 100};
  engine_.adapter().run(engine_.now(), budget);
  EXPECT_LE(qp_->sends.size() + qp_->receives.size(), 100u);
  EXPECT_GT(qp_->sends.size(), 0u);
  EXPECT_GT(qp_->receives.size(), 0u);
  EXPECT_TRUE(engine_.adapter().has_work());
}

TEST_F(QueuePairFlushTest, ReceiveTakenForAMessageIsFlushedFirst) {
  qp_->work.post_receive(receive_request(1, {}));
  qp_->work.post_receive(receive_request(2, {}));
  auto placement = qp_->qp->responder().begin({.opcode = WrOpcode::kSend}, Arrives::kAtOnce);
  ASSERT_TRUE(placement);
  ASSERT_TRUE(move(*qp_->qp, kError, {}));
  EXPECT_FALSE(qp_->qp->responder().busy());
  engine_.run();
  EXPECT_THAT(qp_->receives.wr_ids(), ElementsAre(1, 2));
  EXPECT_EQ(placement->finish().kind, Outcome::Kind::kNoAnswer);
}

TEST_F(QueuePairFlushTest, FullCompletionQueueDuringFlushLosesOnlyCompletions) {
  qp_->sends.set_capacity(2);
  for (std::uint64_t i = 0; i < 5; ++i) qp_->work.post_send(send_request(i, {}));
  ASSERT_TRUE(move(*qp_->qp, kError, {}));
  engine_.run();
  EXPECT_EQ(qp_->sends.size(), 2u);
  EXPECT_EQ(qp_->work.sends_left(), 0u);
  EXPECT_EQ(qp_->state(), kError);
}

}  // namespace
}  // namespace paravane::verbs
