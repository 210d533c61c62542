// READs that we ask of peers of other making, whole, in parts and after losses.
// Their habits are from Linux's rxe_resp.c, rxe_comp.c and rxe_req.c, and from IBTA volume 1, 9.7.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include "transport/roce/roce_peer_test.h"

namespace paravane::fake {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using verbs::WcStatus;
using wire::roce::Opcode;

// The data of a READ whose second packet was lost. It is asked for from there on, and rxe goes on
// with a middle packet, an adapter with a READ of its own.
TEST_F(RocePeer, TheRestOfAReadIsTakenAsEitherSendsIt) {
  for (const bool is_adapter : {false, true}) {
    is_adapter_ = is_adapter;
    qp_ = rig_.a().queue_pair();
    connect();
    sent_.clear();
    post_read(1);
    EXPECT_THAT(sent_psns(), ElementsAre(100));
    hear(Opcode::kReadResponseFirst, kFirstPsn, wire::roce::kAcknowledged, kPeerMtu);
    hear(Opcode::kReadResponseMiddle, kFirstPsn + 2, wire::roce::kAcknowledged, kPeerMtu);
    ASSERT_EQ(sent_.size(), 1u);
    EXPECT_EQ(sent_[0].opcode, Opcode::kReadRequest);
    EXPECT_EQ(sent_[0].psn, kFirstPsn + 1);
    EXPECT_EQ(sent_[0].address, 0x1000 + kPeerMtu);
    EXPECT_EQ(sent_[0].length, 3 * kPeerMtu);
    hear(is_adapter ? Opcode::kReadResponseFirst : Opcode::kReadResponseMiddle, kFirstPsn + 1,
         wire::roce::kAcknowledged, kPeerMtu);
    hear(Opcode::kReadResponseMiddle, kFirstPsn + 2, wire::roce::kAcknowledged, kPeerMtu);
    hear(Opcode::kReadResponseLast, kFirstPsn + 3, wire::roce::kAcknowledged, kPeerMtu);
    EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kSuccess));
    for (std::uint32_t i = 0; i < 4; ++i)
      EXPECT_EQ(fetched(i), payload_of(kPeerMtu, kFirstPsn + i));
  }
}

// Where something of a READ was lost, as much is asked for as came before, and no more than the
// peer has a request for. What it sends meanwhile of the answer that it had begun asks for nothing.
TEST_F(RocePeer, AReadIsGoneOnWithInParts) {
  connect();
  post_long_read(1);
  post_send(2);
  ASSERT_EQ(sent_.size(), 4u);
  EXPECT_EQ(sent_[0].length, 16 * kPeerMtu);
  sent_.clear();
  hear_data(100, 106);
  hear_data(107, 116);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].psn, 106u);
  EXPECT_EQ(sent_[0].address, 0x1000 + 6 * kPeerMtu);
  EXPECT_EQ(sent_[0].length, 6 * kPeerMtu);
  sent_.clear();
  hear_data(106, 108);
  hear_data(113, 116);
  hear(Opcode::kAcknowledge, 118, wire::roce::kAcknowledged);  // of the send
  EXPECT_THAT(sent_, IsEmpty());
  hear_data(108, 112);
  ASSERT_EQ(sent_.size(), 4u);
  EXPECT_EQ(sent_[0].length, 4 * kPeerMtu);
  EXPECT_THAT(sent_psns(), ElementsAre(112, 116, 117, 118));
  hear_data(112, 116);
  hear(Opcode::kAcknowledge, 118, wire::roce::kAcknowledged);
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kSuccess, WcStatus::kSuccess));
  for (std::uint32_t i = 0; i < 16; ++i) EXPECT_EQ(fetched(i), payload_of(kPeerMtu, kFirstPsn + i));
}

// A READ that follows is asked for in parts with numbers of their own, one after another, and what
// follows it waits.
TEST_F(RocePeer, AfterALossReadsBeginInParts) {
  connect();
  post_long_read(1);
  hear_data(100, 104);
  hear_data(105, 116);
  hear_data(104, 108);
  sent_.clear();
  hear_data(108, 116);
  ASSERT_EQ(qp_->sends.size(), 1u);
  sent_.clear();
  post_long_read(2);
  post_send(3);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].psn, 116u);
  EXPECT_EQ(sent_[0].length, 12 * kPeerMtu);
  sent_.clear();
  hear_data(116, 128);
  ASSERT_EQ(sent_.size(), 4u);
  EXPECT_EQ(sent_[0].psn, 128u);
  EXPECT_EQ(sent_[0].address, 0x1000 + 12 * kPeerMtu);
  EXPECT_EQ(sent_[0].length, 4 * kPeerMtu);
  EXPECT_EQ(sent_[1].psn, 132u);
}

// A peer that never had the request would take a part of it for all of it.
TEST_F(RocePeer, UntilThePeerAnswersItIsAskedForAllAgain) {
  connect();
  post_long_read(1);
  sent_.clear();
  rig_.advance(milliseconds(20));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].psn, kFirstPsn);
  EXPECT_EQ(sent_[0].length, 16 * kPeerMtu);
}

// IBTA 9.7.5.1.2: an acknowledgement of what follows says that the READ's data was lost.
TEST_F(RocePeer, AnAcknowledgementBehindAReadAsksForItAgain) {
  connect();
  post_read(1);
  post_send(2);
  sent_.clear();
  hear(Opcode::kAcknowledge, kFirstPsn + 6, wire::roce::kAcknowledged);
  EXPECT_THAT(qp_->sends.all(), IsEmpty());
  ASSERT_FALSE(sent_.empty());
  EXPECT_EQ(sent_[0].opcode, Opcode::kReadRequest);
  EXPECT_EQ(sent_[0].psn, kFirstPsn);
}

}  // namespace
}  // namespace paravane::fake
