// Answers of peers of other making to what we ask: what rdma_rxe does, what adapters do, and what
// we do with both (docs/roce.md has the table). Their habits are from Linux's rxe_resp.c,
// rxe_comp.c and rxe_req.c, and from IBTA volume 1, 9.7.

#include "transport/roce/roce_peer_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>

namespace paravane::fake {
namespace {

using std::chrono::microseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using verbs::WcStatus;
using wire::roce::NakCode;
using wire::roce::Opcode;

TEST_F(RocePeer, EachRefusalHasItsStatus) {
  struct Case {
    NakCode code;
    WcStatus status;
  };
  for (const Case& each :
       {Case{NakCode::kInvalidRequest, WcStatus::kRemoteInvalidRequest},
        Case{NakCode::kRemoteAccessError, WcStatus::kRemoteAccessError},
        Case{NakCode::kRemoteOperationalError, WcStatus::kRemoteOperationError}}) {
    qp_ = rig_.a().queue_pair();
    connect();
    post_send(1);
    post_send(2);
    hear(Opcode::kAcknowledge, kFirstPsn + 3, wire::roce::refused(each.code));
    ASSERT_EQ(qp_->sends.size(), 2u);
    EXPECT_EQ(qp_->sends.at(0).status, WcStatus::kSuccess);  // all before it has arrived
    EXPECT_EQ(qp_->sends.at(1).status, each.status);
    EXPECT_EQ(qp_->state(), verbs::QpState::kError);
  }
}

TEST_F(RocePeer, ASequenceErrorIsAnsweredFromThereOn) {
  connect();
  post_send(1);
  EXPECT_THAT(sent_psns(), ElementsAre(100, 101, 102));
  hear(Opcode::kAcknowledge, kFirstPsn + 1, wire::roce::refused(NakCode::kSequenceError));
  EXPECT_THAT(sent_psns(), ElementsAre(101, 102));
  hear(Opcode::kAcknowledge, kFirstPsn + 2, wire::roce::kAcknowledged);
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kSuccess));
  EXPECT_EQ(qp_->qp->stats().retries, 0u);
}

TEST_F(RocePeer, ReservedRefusalsAndKindsAreCountedAndIgnored) {
  connect();
  post_send(1);
  for (const std::uint8_t syndrome : std::array<std::uint8_t, 4>{0x65, 0x7F, 0x40, 0x5F}) {
    hear(Opcode::kAcknowledge, kFirstPsn, syndrome);
  }
  EXPECT_EQ(rig_.counters(0).bad_responses.value(), 4u);
  EXPECT_THAT(qp_->sends.all(), IsEmpty());
  EXPECT_EQ(qp_->state(), verbs::QpState::kReadyToSend);
}

// rxe and some adapters say how many receives they have. We find out by asking.
TEST_F(RocePeer, CreditsAreIgnored) {
  connect();
  for (std::uint8_t credits = 0; credits < 32; ++credits) {
    post_send(credits);
    hear(Opcode::kAcknowledge, kFirstPsn + 3u * credits + 2, credits);
  }
  EXPECT_THAT(qp_->sends.statuses(), testing::SizeIs(32));
  EXPECT_THAT(qp_->sends.statuses(), testing::Each(WcStatus::kSuccess));
}

// rxe: the packets that were under way behind the one that had no receive are out of order to it.
TEST_F(RocePeer, ASequenceErrorAfterReceiverNotReadyEndsNoWaitAndCostsNoRetry) {
  attributes_.rnr_retry = 1;
  connect();
  post_send(1);
  sent_.clear();
  constexpr std::uint8_t kTimer = 14;  // 1.28 ms
  hear(Opcode::kAcknowledge, kFirstPsn, wire::roce::receiver_not_ready(kTimer));
  hear(Opcode::kAcknowledge, kFirstPsn, wire::roce::refused(NakCode::kSequenceError));
  rig_.advance(microseconds(1200));
  EXPECT_THAT(sent_psns(), IsEmpty());
  rig_.advance(microseconds(200));
  EXPECT_THAT(sent_psns(), ElementsAre(100, 101, 102));
  EXPECT_EQ(qp_->qp->stats().rnr_waits, 1u);
  EXPECT_EQ(qp_->qp->stats().retries, 0u);
  hear(Opcode::kAcknowledge, kFirstPsn + 2, wire::roce::kAcknowledged);
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kSuccess));
}

TEST_F(RocePeer, AnswersToWhatWasNeverSentAreCounted) {
  connect();
  post_send(1);
  hear(Opcode::kAcknowledge, kFirstPsn + 3, wire::roce::kAcknowledged);
  hear(Opcode::kReadResponseOnly, kFirstPsn + 1, wire::roce::kAcknowledged, kPeerMtu);
  hear(Opcode::kAtomicAcknowledge, kFirstPsn, wire::roce::kAcknowledged);
  EXPECT_EQ(rig_.counters(0).bad_responses.value(), 3u);
  EXPECT_THAT(qp_->sends.all(), IsEmpty());
}

}  // namespace
}  // namespace paravane::fake
