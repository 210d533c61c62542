// What peers of other making ask of us (docs/roce.md has the table).
// Their habits are from Linux's rxe_resp.c, rxe_comp.c and rxe_req.c, and from IBTA volume 1, 9.7.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "testing/edited_state.h"
#include "transport/roce/roce_peer_test.h"

namespace paravane::fake {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using verbs::WcStatus;
using wire::roce::NakCode;
using wire::roce::Opcode;

// rxe sends a sequence error then. The peer sends again without being asked.
TEST_F(RocePeer, AfterReceiverNotReadyWeDropWhatFollowsInSilence) {
  connect();
  hear(of_peer(Opcode::kSendFirst, kFirstPsn), kPeerMtu);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].psn, kFirstPsn);
  EXPECT_EQ(sent_[0].syndrome, wire::roce::receiver_not_ready(attributes_.min_rnr_timer));
  sent_.clear();
  hear(of_peer(Opcode::kSendMiddle, kFirstPsn + 1), kPeerMtu);
  hear(of_peer(Opcode::kSendLast, kFirstPsn + 2), 10);
  EXPECT_THAT(sent_psns(), IsEmpty());
  qp_->post(receive_request(5, {buffer_.whole()}));
  hear(of_peer(Opcode::kSendOnly, kFirstPsn), 10);
  ASSERT_EQ(qp_->receives.size(), 1u);
  EXPECT_EQ(qp_->receives.at(0).byte_len, 10u);
  EXPECT_EQ(sent_.at(0).syndrome, wire::roce::kAcknowledged);
}

TEST_F(RocePeer, AGapIsToldOnce) {
  connect();
  qp_->post(receive_request(5, {buffer_.whole()}));
  hear(of_peer(Opcode::kSendMiddle, kFirstPsn + 1), kPeerMtu);
  hear(of_peer(Opcode::kSendLast, kFirstPsn + 2), 10);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].psn, kFirstPsn);
  EXPECT_EQ(sent_[0].syndrome, wire::roce::refused(NakCode::kSequenceError));
}

// max_dest_rd_atomic of them are kept, here one. An older one is dropped, as by rxe and adapters.
TEST_F(RocePeer, AnAtomicThatComesAgainIsAnsweredWhileItIsKept) {
  connect();
  hear(add_of_peer(kFirstPsn));
  hear(add_of_peer(kFirstPsn + 1));
  EXPECT_EQ(word(), 2u);
  sent_.clear();
  hear(add_of_peer(kFirstPsn));
  EXPECT_THAT(sent_, IsEmpty());
  hear(add_of_peer(kFirstPsn + 1));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].opcode, Opcode::kAtomicAcknowledge);
  EXPECT_EQ(sent_[0].psn, kFirstPsn + 1);
  EXPECT_EQ(sent_[0].original, 1u);
  EXPECT_EQ(word(), 2u);
}

// What comes again in another shape is not what was asked.
TEST_F(RocePeer, AnAtomicIsNotAnsweredAsARead) {
  connect();
  hear(add_of_peer(kFirstPsn));
  sent_.clear();
  hear(read_of_peer(kFirstPsn, 0, 8));
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(RocePeer, TheRestOfAReadIsSentInTheMannerOfThePeer) {
  for (const bool is_adapter : {false, true}) {
    is_adapter_ = is_adapter;
    qp_ = rig_.a().queue_pair();
    connect();
    sent_.clear();
    hear(read_of_peer(kFirstPsn, 0, 4 * kPeerMtu));
    EXPECT_THAT(sent_opcodes(),
                ElementsAre(Opcode::kReadResponseFirst, Opcode::kReadResponseMiddle,
                            Opcode::kReadResponseMiddle, Opcode::kReadResponseLast));
    hear(read_of_peer(kFirstPsn + 1, kPeerMtu, 3 * kPeerMtu));
    EXPECT_THAT(sent_opcodes(),
                ElementsAre(is_adapter ? Opcode::kReadResponseFirst : Opcode::kReadResponseMiddle,
                            Opcode::kReadResponseMiddle, Opcode::kReadResponseLast));
    hear(read_of_peer(kFirstPsn + 3, 3 * kPeerMtu, kPeerMtu));
    EXPECT_THAT(sent_opcodes(),
                ElementsAre(is_adapter ? Opcode::kReadResponseOnly : Opcode::kReadResponseLast));
  }
}

TEST_F(RocePeer, AReadThatIsNoLongerKeptIsNotAnsweredAgain) {
  connect();
  hear(read_of_peer(kFirstPsn, 0, kPeerMtu));
  hear(read_of_peer(kFirstPsn + 1, 0, kPeerMtu));
  sent_.clear();
  hear(read_of_peer(kFirstPsn, 0, kPeerMtu));
  EXPECT_THAT(sent_, IsEmpty());
  hear(read_of_peer(kFirstPsn + 1, 0, kPeerMtu));
  EXPECT_THAT(sent_psns(), ElementsAre(kFirstPsn + 1));
}

// Numbers wrap: what is kept of a READ long ago would be one to come, and an acknowledgement up to
// there would say that packets have arrived which have not.
TEST_F(RocePeer, AReadOfLongAgoIsForgotten) {
  constexpr std::uint32_t kLong = 1u << 22;
  connect();
  hear(read_of_peer(kFirstPsn, 0, kPeerMtu));
  std::array<EngineQp*, 1> qps{qp_.get()};
  const std::vector<std::byte> state = rig_.save(0, qps);
  for (const std::uint32_t passed : {kLong - 9, kLong, 3 * kLong, 7 * kLong}) {
    const std::uint32_t expected = (kFirstPsn + 1 + passed) & verbs::Psn::kMask;
    rig_.end_engine(0, qps);
    const Status loaded = rig_.load(
        0, edited(state, std::array<std::uint16_t, 4>{2, 2, 2, 1}, to_number(expected)), qps);
    EXPECT_EQ(loaded.has_value(), passed <= kLong) << "what was forgotten is not in a state";
    if (!loaded) continue;
    rig_.open_door(0);
    sent_.clear();
    hear(write_of_peer(expected));
    hear(write_of_peer(expected));
    EXPECT_THAT(sent_psns(), ElementsAre(expected, expected)) << passed;
    hear(read_of_peer(kFirstPsn, 0, kPeerMtu));
    const bool is_answered = sent_opcodes() == std::vector{Opcode::kReadResponseOnly};
    EXPECT_EQ(is_answered, passed < kLong) << passed;
  }
}

TEST_F(RocePeer, ReadsBeyondTheRegionAreRefused) {
  connect();
  hear(read_of_peer(kFirstPsn, 15 * kPeerMtu, 2 * kPeerMtu));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].syndrome, wire::roce::refused(NakCode::kRemoteAccessError));
  EXPECT_EQ(qp_->state(), verbs::QpState::kError);
}

// A SEND's length is known with its last packet.
TEST_F(RocePeer, ASendThatGrowsBeyondItsReceiveIsRefused) {
  connect();
  qp_->post(receive_request(5, {buffer_.sge(0, kPeerMtu + 10)}));
  hear(of_peer(Opcode::kSendFirst, kFirstPsn), kPeerMtu);
  EXPECT_EQ(sent_.at(0).syndrome, wire::roce::kAcknowledged);
  sent_.clear();
  hear(of_peer(Opcode::kSendLast, kFirstPsn + 1), 11);
  EXPECT_EQ(sent_.at(0).syndrome, wire::roce::refused(NakCode::kInvalidRequest));
  ASSERT_EQ(qp_->receives.size(), 1u);
  EXPECT_EQ(qp_->receives.at(0).status, WcStatus::kLocalLengthError);
}

}  // namespace
}  // namespace paravane::fake
