// Peers that do not answer in time, or whose answers stand at the port when a timer expires.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "transport/roce/roce_peer_test.h"

namespace paravane::fake {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using verbs::WcStatus;
using wire::roce::NakCode;
using wire::roce::Opcode;

// The peer tells of a gap once. What it says may be about packets that were sent again after a
// silence, so it is no repetition of something heard before.
TEST_F(RocePeer, ASequenceErrorRightAfterASilenceIsAnswered) {
  connect();
  post_send(1);
  sent_.clear();
  rig_.advance(milliseconds(20));
  EXPECT_THAT(sent_psns(), ElementsAre(100, 101, 102));
  hear(Opcode::kAcknowledge, kFirstPsn, wire::roce::refused(NakCode::kSequenceError));
  EXPECT_THAT(sent_psns(), ElementsAre(100, 101, 102));
  hear(Opcode::kAcknowledge, kFirstPsn, wire::roce::refused(NakCode::kSequenceError));
  EXPECT_THAT(sent_psns(), IsEmpty());  // rxe complains of each packet that follows the gap
}

// What is late and not lost would be sent again in vain.
TEST_F(RocePeer, AfterASilenceFewPacketsAreSentAgain) {
  connect();
  for (std::uint64_t id = 1; id <= 10; ++id) post_send(id);
  EXPECT_EQ(sent_psns().size(), 30u);
  rig_.advance(milliseconds(20));
  EXPECT_THAT(sent_psns(), ElementsAre(100, 101, 102, 103));
  hear(acknowledgement(kFirstPsn + 29));
  EXPECT_THAT(sent_psns(), IsEmpty());
  EXPECT_EQ(qp_->sends.size(), 10u);
}

// RFC 5682: an answer to what was not sent again shows that all was only late.
TEST_F(RocePeer, AfterAnAnswerThatIsLateNothingMoreIsSentAgain) {
  connect();
  for (std::uint64_t id = 1; id <= 10; ++id) post_send(id);
  rig_.advance(milliseconds(20));
  sent_.clear();
  hear(acknowledgement(kFirstPsn + 8));
  post_send(11);
  EXPECT_THAT(sent_psns(), IsEmpty()) << "the window is small";
  hear(acknowledgement(kFirstPsn + 26));
  EXPECT_THAT(sent_psns(), ElementsAre(130, 131, 132));
  rig_.advance(milliseconds(31));
  EXPECT_THAT(sent_psns(), IsEmpty()) << "answers take longer than was waited for";
  hear(acknowledgement(kFirstPsn + 32));
  EXPECT_EQ(qp_->sends.size(), 11u);
}

TEST_F(RocePeer, AComplaintAfterASilenceIsNoLateAnswer) {
  connect();
  for (std::uint64_t id = 1; id <= 10; ++id) post_send(id);
  rig_.advance(milliseconds(20));
  sent_.clear();
  hear(Opcode::kAcknowledge, kFirstPsn + 9, wire::roce::refused(NakCode::kSequenceError));
  EXPECT_EQ(sent_psns().front(), kFirstPsn + 9);
}

// A second silence says nothing new about how much the network carries.
TEST_F(RocePeer, AfterALongSilenceTheWindowGrowsAsFast) {
  connect();
  for (std::uint64_t id = 1; id <= 10; ++id) post_send(id);
  rig_.advance(milliseconds(200));
  sent_.clear();
  hear(acknowledgement(kFirstPsn + 3));
  EXPECT_THAT(sent_psns(), ElementsAre(104, 105, 106, 107, 108, 109, 110, 111));
}

// A worker that did not run finds its timers expired and the answers before its door.
TEST_F(RocePeer, AnAnswerThatCameInTimeIsHeardBeforeAnythingIsSentAgain) {
  connect();
  post_send(1);
  sent_.clear();
  rig_.skip(milliseconds(20));
  hear(acknowledgement(kFirstPsn + 2));
  EXPECT_THAT(sent_psns(), IsEmpty());
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kSuccess));
  EXPECT_EQ(rig_.counters(0).timeouts.value(), 0u);
}

// All that came in time has been heard long before this ends.
TEST_F(RocePeer, WhatKeepsComingDoesNotHoldUpATimer) {
  connect();
  post_send(1);
  bool was_busy = false;
  rig_.wire().set_weather([&](unsigned, const FrameBytes&) {
    was_busy = rig_.wire().busy();
    return std::vector<FrameBytes>();
  });
  rig_.skip(milliseconds(20));
  const FrameBytes old = frame_of(acknowledgement(kFirstPsn - 1), {});
  for (int i = 0; i < 20'000; ++i) rig_.wire().inject(0, old);
  ASSERT_TRUE(rig_.run());
  EXPECT_TRUE(was_busy) << "it waited until nothing came any more";
  EXPECT_EQ(rig_.counters(0).timeouts.value(), 1u);
}

// It knows nothing of the connection: what it sends is of another, or for none.
TEST_F(RocePeer, APeerThatHasRebootedIsGivenUpInTheQueuePairsOwnTime) {
  attributes_.timeout = 14;  // 67 ms
  connect();
  post_send(1);
  hear(of_peer(Opcode::kSendOnly, kFirstPsn + 5'000'000), 10);  // of its new connection
  rig_.advance(milliseconds(190));
  EXPECT_THAT(qp_->sends.all(), IsEmpty());
  rig_.advance(milliseconds(30));
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kRetryExceeded));
}

}  // namespace
}  // namespace paravane::fake
