#include "verbs/responder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/solo_engine.h"

namespace paravane::verbs {
namespace {

using fake::default_attributes;
using fake::EngineBuffer;
using fake::EngineQp;
using fake::kEveryRight;
using fake::receive_request;
using fake::SoloEngine;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using Kind = Outcome::Kind;

class ResponderTest : public testing::Test {
 protected:
  Responder& responder() { return qp_->qp->responder(); }
  // As the transport between hosts begins: a message of one slice is judged at once.
  Outcome begin(const RemoteRequest& request) {
    auto begun = responder().begin(request, Arrives::kInPieces);
    if (!begun) return begun.error();
    placement_ = std::move(*begun);
    if (!is_atomic(request.opcode)) return {};
    ExtentList word;  // whose key is judged when the word is asked for
    return placement_->extents(0, request.length, word);
  }
  Outcome begin_send(EngineQp& qp) {
    auto begun = qp.qp->responder().begin({.opcode = WrOpcode::kSend}, Arrives::kAtOnce);
    if (!begun) return begun.error();
    placement_ = std::move(*begun);
    return {};
  }
  Outcome begin(WrOpcode opcode, std::uint64_t length = 0) {
    return begin({.opcode = opcode,
                  .source_qpn = 77,
                  .remote_addr = region_.start,
                  .rkey = region_.key,
                  .length = length});
  }
  // The answer is a refusal with `status`, and the queue pair is in ERR.
  void expect_refused(const Outcome& outcome, WcStatus status) {
    EXPECT_EQ(outcome.kind, Kind::kRefused);
    EXPECT_EQ(outcome.status, status);
    EXPECT_EQ(qp_->state(), QpState::kError);
    EXPECT_FALSE(responder().busy());
  }
  void expect_event(QpEvent event) {
    EXPECT_THAT(engine_.vm().events().all(), ElementsAre(Pair(qp_->qp->spec().tag, event)));
  }
  void reconnect(const QpAttributes& attributes) {
    qp_ = engine_.ready(QpType::kReliableConnected, attributes);
  }

  SoloEngine engine_;
  EngineBuffer region_ = engine_.vm().buffer(8192);
  std::unique_ptr<EngineQp> qp_ = engine_.ready();
  std::optional<Placement> placement_;
  ExtentList out_;
};

TEST_F(ResponderTest, C65NoReceivePostedIsNotReadyWithOurTimer) {
  const Outcome outcome = begin(WrOpcode::kSend);
  EXPECT_EQ(outcome.kind, Kind::kReceiverNotReady);
  EXPECT_EQ(outcome.rnr_timer, default_attributes().min_rnr_timer);
  EXPECT_EQ(begin(WrOpcode::kRdmaWriteWithImm).kind, Kind::kReceiverNotReady);
  EXPECT_EQ(begin(WrOpcode::kRdmaWrite).kind, Kind::kDone);  // needs none
  EXPECT_EQ(qp_->state(), QpState::kReadyToSend);
}

TEST_F(ResponderTest, ReceivesAreCheckedBeforeKeys) {
  const Outcome outcome =
      begin({.opcode = WrOpcode::kRdmaWriteWithImm, .remote_addr = 0, .rkey = 0, .length = 64});
  EXPECT_EQ(outcome.kind, Kind::kReceiverNotReady);
}

TEST_F(ResponderTest, C63BadKeysAreAccessErrors) {
  expect_refused(begin({.opcode = WrOpcode::kRdmaWrite,
                        .remote_addr = region_.start,
                        .rkey = region_.key ^ 1,
                        .length = 1}),
                 WcStatus::kRemoteAccessError);
  expect_event(QpEvent::kAccessError);
  EXPECT_EQ(engine_.vm().counters().remote_access_errors.value(), 1u);
}

TEST_F(ResponderTest, C63RangesAreAccessErrors) {
  expect_refused(begin(WrOpcode::kRdmaRead, 8193), WcStatus::kRemoteAccessError);
  expect_event(QpEvent::kAccessError);
}

TEST_F(ResponderTest, C63LongMessagesAreJudgedWholeBeforeTheirFirstByte) {
  region_ = engine_.vm().buffer(kSliceBytes + 100);
  EXPECT_EQ(begin(WrOpcode::kRdmaWrite, kSliceBytes + 100).kind, Kind::kDone);
  expect_refused(begin(WrOpcode::kRdmaWrite, kSliceBytes + 101), WcStatus::kRemoteAccessError);
}

TEST_F(ResponderTest, LongMessagesNeedAWholeReceive) {
  region_ = engine_.vm().buffer(kSliceBytes + 100, 0);  // no right to write
  qp_->post(receive_request(1, {region_.whole()}));
  expect_refused(begin(WrOpcode::kSend, kSliceBytes + 1), WcStatus::kRemoteOperationError);
  EXPECT_THAT(qp_->receives.statuses(), ElementsAre(WcStatus::kLocalProtectionError));
}

TEST_F(ResponderTest, C63RightsOfTheRegionAreAccessErrors) {
  region_ = engine_.vm().buffer(64, kAccessLocalWrite | kAccessRemoteRead);
  EXPECT_EQ(begin(WrOpcode::kRdmaRead, 64).kind, Kind::kDone);
  expect_refused(begin(WrOpcode::kRdmaWrite, 64), WcStatus::kRemoteAccessError);
}

TEST_F(ResponderTest, RightsOfTheQueuePairAreInvalidRequests) {
  QpAttributes attributes = default_attributes();
  attributes.access = kAccessRemoteRead;
  reconnect(attributes);
  EXPECT_EQ(begin(WrOpcode::kRdmaRead, 64).kind, Kind::kDone);
  expect_refused(begin(WrOpcode::kRdmaWrite, 64), WcStatus::kRemoteInvalidRequest);
  expect_event(QpEvent::kRequestError);
}

TEST_F(ResponderTest, RightsOfTheQueuePairAreNeededEvenWithoutBytes) {
  QpAttributes attributes = default_attributes();
  attributes.access = 0;
  reconnect(attributes);
  expect_refused(begin(WrOpcode::kRdmaWrite, 0), WcStatus::kRemoteInvalidRequest);
}

TEST_F(ResponderTest, ReadsNeedPermittedReads) {
  QpAttributes attributes = default_attributes();
  attributes.max_dest_reads = 0;
  reconnect(attributes);
  expect_refused(begin(WrOpcode::kRdmaRead, 64), WcStatus::kRemoteInvalidRequest);
}

TEST_F(ResponderTest, WhatIsNotExecutedIsAnInvalidRequest) {
  for (const WrOpcode opcode : {WrOpcode::kLocalInvalidate, WrOpcode::kFastRegister}) {
    reconnect(default_attributes());
    expect_refused(begin(opcode, 8), WcStatus::kRemoteInvalidRequest);
  }
}

TEST_F(ResponderTest, C75AtomicsAreAlignedAndOfEightBytes) {
  EXPECT_EQ(begin(WrOpcode::kFetchAndAdd, kAtomicBytes).kind, Kind::kDone);
  for (const std::uint64_t length : {0u, 4u, 16u}) {
    reconnect(default_attributes());
    expect_refused(begin(WrOpcode::kFetchAndAdd, length), WcStatus::kRemoteInvalidRequest);
  }
  for (std::uint64_t offset = 1; offset < 8; ++offset) {
    reconnect(default_attributes());
    region_.start += offset;
    expect_refused(begin(WrOpcode::kCompareAndSwap, kAtomicBytes), WcStatus::kRemoteInvalidRequest);
    region_.start -= offset;
  }
}

TEST_F(ResponderTest, C75AtomicsNeedTheirRights) {
  region_ = engine_.vm().buffer(64, kEveryRight & ~kAccessRemoteAtomic);
  expect_refused(begin(WrOpcode::kFetchAndAdd, kAtomicBytes), WcStatus::kRemoteAccessError);
  region_ = engine_.vm().buffer(64);
  QpAttributes attributes = default_attributes();
  attributes.access = kEveryRight & ~kAccessRemoteAtomic;
  reconnect(attributes);
  expect_refused(begin(WrOpcode::kFetchAndAdd, kAtomicBytes), WcStatus::kRemoteInvalidRequest);
  attributes = default_attributes();
  attributes.max_dest_reads = 0;
  reconnect(attributes);
  expect_refused(begin(WrOpcode::kCompareAndSwap, kAtomicBytes), WcStatus::kRemoteInvalidRequest);
}

TEST_F(ResponderTest, AtomicWhoseAnswerWasLostIsAnsweredAgainAndNotExecutedAgain) {
  RemoteRequest request{.opcode = WrOpcode::kFetchAndAdd,
                        .remote_addr = region_.start,
                        .rkey = region_.key,
                        .length = kAtomicBytes,
                        .compare_add = 5,
                        .serial = 1};
  const auto execute = [&] {
    std::uint64_t before = 99;
    EXPECT_EQ(begin(request).kind, Kind::kDone);
    EXPECT_EQ(placement_->atomic(before).kind, Kind::kDone);
    EXPECT_EQ(placement_->finish().kind, Kind::kDone);
    return before;
  };
  EXPECT_EQ(execute(), 0u);
  EXPECT_EQ(execute(), 0u);  // the requester's retry
  request.serial = 2;
  EXPECT_EQ(execute(), 5u);
}

// As many as may be under way: the answers of several may be lost together.
TEST_F(ResponderTest, AtomicsWhoseAnswersWereLostTogetherAreAllAnsweredAgain) {
  const auto execute = [&](std::uint64_t serial) {
    std::uint64_t before = 99;
    EXPECT_EQ(begin({.opcode = WrOpcode::kFetchAndAdd,
                     .remote_addr = region_.start,
                     .rkey = region_.key,
                     .length = kAtomicBytes,
                     .compare_add = 5,
                     .serial = serial})
                  .kind,
              Kind::kDone);
    EXPECT_EQ(placement_->atomic(before).kind, Kind::kDone);
    EXPECT_EQ(placement_->finish().kind, Kind::kDone);
    return before;
  };
  const std::uint64_t count = default_attributes().max_dest_reads;
  ASSERT_GT(count, 1u);
  for (int tries = 0; tries < 2; ++tries) {
    for (std::uint64_t i = 0; i < count; ++i) EXPECT_EQ(execute(1 + i), 5 * i) << tries;
  }
}

TEST_F(ResponderTest, C74OnlyAFastRegionOfTheSameDomainCanBeInvalidatedByAPeer) {
  qp_->post(receive_request(7, {region_.whole()}));
  const Outcome outcome =
      begin({.opcode = WrOpcode::kSendWithInvalidate, .rkey = region_.key, .length = 8});
  expect_refused(outcome, WcStatus::kRemoteAccessError);
  EXPECT_THAT(qp_->receives.statuses(), ElementsAre(WcStatus::kRemoteInvalidRequest));
}

// A long message takes turns, and its program may take the region back meanwhile.
TEST_F(ResponderTest, ARegionThatGoesWhileItsInvalidationArrivesIsNotTouched) {
  MemoryRegionTable& regions = engine_.adapter().regions();
  const std::uint32_t key = *regions.add_fast(engine_.vm().pd(), 1);
  const auto pages = engine_.vm().ram().scattered_pages(1);
  ASSERT_TRUE(regions.register_fast(
      {.key = key, .access = kEveryRight, .start = 0x1000, .length = 64},
      *PageList::from_directory(engine_.vm().memory(), pages.directory, 1, Rights::kReadWrite)));
  qp_->post(receive_request(7, {region_.whole()}));
  ASSERT_EQ(begin({.opcode = WrOpcode::kSendWithInvalidate, .rkey = key, .length = 8}).kind,
            Kind::kDone);
  ASSERT_TRUE(regions.remove(key));
  EXPECT_EQ(placement_->finish().kind, Kind::kDone);
  EXPECT_THAT(qp_->receives.statuses(), ElementsAre(WcStatus::kSuccess));
  EXPECT_EQ(qp_->receives.at(0).invalidated_key, key);
}

TEST_F(ResponderTest, MessageAboveTheLimitIsAnInvalidRequest) {
  expect_refused(begin(WrOpcode::kRdmaWrite, std::uint64_t{kMaxMessageBytes} + 1),
                 WcStatus::kRemoteInvalidRequest);
}

TEST_F(ResponderTest, MalformedReceiveIsOurFault) {
  ReceiveRequest receive = receive_request(5, {});
  receive.fault = WcStatus::kLocalQpOperationError;
  qp_->post(receive);
  expect_refused(begin(WrOpcode::kSend), WcStatus::kRemoteOperationError);
  EXPECT_THAT(qp_->receives.statuses(), ElementsAre(WcStatus::kLocalQpOperationError));
  EXPECT_THAT(qp_->receives.wr_ids(), ElementsAre(5));
}

TEST_F(ResponderTest, OnlyTheElementsThatAMessageFillsAreJudged) {
  const EngineBuffer good = engine_.vm().buffer(64);
  Sge bad = good.sge(32, 32);
  bad.lkey = 0;
  qp_->post(receive_request(1, {good.sge(0, 32), bad}));
  EXPECT_EQ(begin(WrOpcode::kSend, 32).kind, Kind::kDone);
  EXPECT_EQ(placement_->finish().kind, Kind::kDone);

  qp_->post(receive_request(2, {good.sge(0, 32), bad}));
  expect_refused(begin(WrOpcode::kSend, 33), WcStatus::kRemoteOperationError);
  EXPECT_EQ(qp_->receives.statuses().back(), WcStatus::kLocalProtectionError);
}

TEST_F(ResponderTest, OnlyListeningStatesAnswer) {
  const auto fresh = engine_.vm().queue_pair();
  EXPECT_EQ(begin_send(*fresh).kind, Kind::kNoAnswer);
  ASSERT_TRUE(fake::bring_up(*fresh->qp, QpState::kInit, default_attributes()));
  fresh->post(receive_request(1, {}));
  EXPECT_EQ(begin_send(*fresh).kind, Kind::kNoAnswer);
  EXPECT_EQ(fresh->work.receives_left(), 1u);
}

TEST_F(ResponderTest, C70ReceivesPostedInInitServeAfterRtr) {
  const auto qp = engine_.vm().queue_pair();
  ASSERT_TRUE(fake::bring_up(*qp->qp, QpState::kInit, default_attributes()));
  qp->post(receive_request(1, {}));
  QpAttributes attributes = default_attributes();
  attributes.av.dgid = SoloEngine::kPeer;
  ASSERT_TRUE(fake::move(*qp->qp, QpState::kReadyToReceive, attributes));
  EXPECT_EQ(begin_send(*qp).kind, Kind::kDone);
  EXPECT_EQ(placement_->finish().kind, Kind::kDone);
  EXPECT_THAT(qp->receives.wr_ids(), ElementsAre(1));
}

TEST_F(ResponderTest, FirstMessageInRtrEstablishesTheConnectionOnce) {
  const auto qp = engine_.vm().queue_pair();
  QpAttributes attributes = default_attributes();
  attributes.av.dgid = SoloEngine::kPeer;
  ASSERT_TRUE(fake::bring_up(*qp->qp, QpState::kReadyToReceive, attributes));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(qp->qp->responder().begin({.opcode = WrOpcode::kRdmaWrite}, Arrives::kAtOnce));
  }
  EXPECT_THAT(engine_.vm().events().all(),
              ElementsAre(Pair(qp->qp->spec().tag, QpEvent::kCommunicationEstablished)));
}

TEST_F(ResponderTest, DatagramQueuePairsTakeNoMessages) {
  const auto qp = engine_.ready(QpType::kUnreliableDatagram);
  qp->post(receive_request(1, {}));
  EXPECT_EQ(begin_send(*qp).kind, Kind::kNoAnswer);
}

TEST_F(ResponderTest, AbortedMessageLeavesItsReceiveForTheNext) {
  qp_->post(receive_request(1, {region_.sge(0, 100)}));
  ASSERT_EQ(begin(WrOpcode::kSend, 10).kind, Kind::kDone);
  placement_.reset();
  EXPECT_FALSE(responder().busy());
  EXPECT_THAT(qp_->receives.all(), IsEmpty());

  ASSERT_EQ(begin(WrOpcode::kSend, 20).kind, Kind::kDone);
  EXPECT_EQ(placement_->finish().kind, Kind::kDone);
  EXPECT_THAT(qp_->receives.wr_ids(), ElementsAre(1));
  EXPECT_EQ(qp_->receives.at(0).byte_len, 20u);
}

TEST_F(ResponderTest, RegionRemovedInTheMiddleStopsTheMessage) {
  ASSERT_EQ(begin(WrOpcode::kRdmaWrite, 8192).kind, Kind::kDone);
  ASSERT_EQ(placement_->extents(0, 4096, out_).kind, Kind::kDone);
  ASSERT_TRUE(engine_.adapter().regions().remove(region_.key));
  expect_refused(placement_->extents(4096, 4096, out_), WcStatus::kRemoteAccessError);
  expect_event(QpEvent::kAccessError);
}

TEST_F(ResponderTest, AbsentMemoryIsNobodysFault) {
  ASSERT_EQ(begin(WrOpcode::kRdmaWrite, 8192).kind, Kind::kDone);
  engine_.vm().memory().unmap(engine_.vm().ram().base(), engine_.vm().ram().size());
  const Outcome outcome = placement_->extents(0, 4096, out_);
  EXPECT_EQ(outcome.kind, Kind::kMemoryAbsent);
  EXPECT_EQ(outcome.status, WcStatus::kRemoteOperationError);
  EXPECT_EQ(qp_->state(), QpState::kReadyToSend);
  engine_.vm().ram().show(engine_.vm().memory());
  EXPECT_EQ(placement_->extents(0, 4096, out_).kind, Kind::kDone);
}

TEST_F(ResponderTest, FullCompletionQueueIsFatalAndThePeerHearsOfIt) {
  qp_->receives.set_capacity(0);
  qp_->post(receive_request(1, {}));
  ASSERT_EQ(begin(WrOpcode::kSend).kind, Kind::kDone);
  expect_refused(placement_->finish(), WcStatus::kRemoteOperationError);
  expect_event(QpEvent::kFatal);
}

TEST_F(ResponderTest, BrokenReceiveRingIsFatal) {
  qp_->work.set_receive_answer(WorkSource::Fetch::kBroken);
  expect_refused(begin(WrOpcode::kSend), WcStatus::kRemoteOperationError);
  expect_event(QpEvent::kFatal);
  EXPECT_EQ(qp_->work.receive_looks(), 1u);
}

TEST_F(ResponderTest, AbsentReceiveRingIsWaitedForByThePeer) {
  qp_->work.set_receive_answer(WorkSource::Fetch::kAbsent);
  EXPECT_EQ(begin(WrOpcode::kSend).kind, Kind::kMemoryAbsent);
  EXPECT_EQ(qp_->state(), QpState::kReadyToSend);
}

TEST_F(ResponderTest, FailedMemoryIsFatal) {
  ASSERT_EQ(begin(WrOpcode::kRdmaWrite, 64).kind, Kind::kDone);
  expect_refused(responder().memory_failed(), WcStatus::kRemoteOperationError);
  expect_event(QpEvent::kFatal);
}

TEST_F(ResponderTest, ReadsAndWritesLeaveReceivesAlone) {
  qp_->post(receive_request(1, {}));
  ASSERT_EQ(begin(WrOpcode::kRdmaWrite, 64).kind, Kind::kDone);
  ASSERT_EQ(placement_->finish().kind, Kind::kDone);
  ASSERT_EQ(begin(WrOpcode::kRdmaRead, 64).kind, Kind::kDone);
  ASSERT_EQ(placement_->finish().kind, Kind::kDone);
  EXPECT_EQ(qp_->work.receives_left(), 1u);
  EXPECT_THAT(qp_->receives.all(), IsEmpty());
  EXPECT_EQ(engine_.vm().counters().read_bytes.value(), 64u);
  EXPECT_EQ(engine_.vm().counters().received_bytes.value(), 64u);
}

}  // namespace
}  // namespace paravane::verbs
