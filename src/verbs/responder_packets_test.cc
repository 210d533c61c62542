// Messages of a peer that arrive in packets: the last packet alone says how a message ends.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/solo_engine.h"
#include "verbs/responder.h"

namespace paravane::verbs {
namespace {

using fake::EngineBuffer;
using fake::EngineQp;
using fake::receive_request;
using fake::SoloEngine;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using Kind = Outcome::Kind;

constexpr std::uint64_t kMtu = 1024;
constexpr Immediate kImmediate{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};

class PacketsTest : public testing::Test {
 protected:
  Outcome begin(WrOpcode opcode, std::uint64_t length = 0) {
    auto begun = qp_->qp->responder().begin({.opcode = opcode,
                                             .source_qpn = 77,
                                             .remote_addr = region_.start,
                                             .rkey = region_.key,
                                             .length = length},
                                            Arrives::kInPackets);
    if (!begun) return begun.error();
    placement_ = std::move(*begun);
    return {};
  }
  Outcome packet(std::uint64_t number, std::uint64_t bytes = kMtu) {
    out_.clear();
    return placement_->extents(number * kMtu, bytes, out_);
  }
  void expect_refused(const Outcome& outcome, WcStatus status) {
    EXPECT_EQ(outcome.kind, Kind::kRefused);
    EXPECT_EQ(outcome.status, status);
    EXPECT_EQ(qp_->state(), QpState::kError);
    EXPECT_FALSE(placement_ && placement_->is_live());
  }
  void expect_event(QpEvent event) {
    EXPECT_THAT(engine_.vm().events().all(), ElementsAre(Pair(qp_->qp->spec().tag, event)));
  }

  SoloEngine engine_;
  EngineBuffer region_ = engine_.vm().buffer(8192);
  std::unique_ptr<EngineQp> qp_ = engine_.ready();
  std::optional<Placement> placement_;
  ExtentList out_;
};

TEST_F(PacketsTest, ASendIsAsLongAsItsPackets) {
  qp_->post(receive_request(5, {region_.sge(0, 3 * kMtu)}));
  ASSERT_EQ(begin(WrOpcode::kSend, 12'345).kind, Kind::kDone) << "its length is not known yet";
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(packet(i).kind, Kind::kDone);
    EXPECT_EQ(out_.total_bytes(), kMtu);
  }
  const MessageEnd end{
      .opcode = WrOpcode::kSendWithImm, .length = 3 * kMtu, .solicited = true, .imm = kImmediate};
  EXPECT_EQ(placement_->finish(end).kind, Kind::kDone);
  ASSERT_EQ(qp_->receives.size(), 1u);
  const Completion& received = qp_->receives.at(0);
  EXPECT_EQ(received.wr_id, 5u);
  EXPECT_EQ(received.byte_len, 3 * kMtu);
  EXPECT_TRUE(received.solicited);
  EXPECT_TRUE(received.with_imm);
  EXPECT_EQ(received.imm, kImmediate);
  EXPECT_EQ(received.source_qpn, 77u);
  EXPECT_FALSE(placement_->is_live());
}

TEST_F(PacketsTest, ASendWithoutBytesCompletesItsReceive) {
  qp_->post(receive_request(5, {}));
  ASSERT_EQ(begin(WrOpcode::kSend).kind, Kind::kDone);
  EXPECT_EQ(placement_->finish({.opcode = WrOpcode::kSend}).kind, Kind::kDone);
  EXPECT_THAT(qp_->receives.statuses(), ElementsAre(WcStatus::kSuccess));
}

TEST_F(PacketsTest, ASendThatGrowsBeyondItsReceiveIsRefused) {
  qp_->post(receive_request(5, {region_.sge(0, 2 * kMtu - 1)}));
  ASSERT_EQ(begin(WrOpcode::kSend).kind, Kind::kDone);
  ASSERT_EQ(packet(0).kind, Kind::kDone);
  expect_refused(packet(1), WcStatus::kRemoteInvalidRequest);
  EXPECT_THAT(qp_->receives.statuses(), ElementsAre(WcStatus::kLocalLengthError));
  EXPECT_EQ(engine_.vm().counters().length_errors.value(), 1u);
}

TEST_F(PacketsTest, TheLengthOfTheEndIsJudgedToo) {
  qp_->post(receive_request(5, {region_.sge(0, kMtu)}));
  ASSERT_EQ(begin(WrOpcode::kSend).kind, Kind::kDone);
  expect_refused(placement_->finish({.opcode = WrOpcode::kSend, .length = kMtu + 1}),
                 WcStatus::kRemoteInvalidRequest);
  EXPECT_THAT(qp_->receives.statuses(), ElementsAre(WcStatus::kLocalLengthError));
}

TEST_F(PacketsTest, ASendWithoutAReceiveIsNotBegun) {
  EXPECT_EQ(begin(WrOpcode::kSend).kind, Kind::kReceiverNotReady);
}

TEST_F(PacketsTest, AnInvalidationIsJudgedAtTheEnd) {
  qp_->post(receive_request(5, {region_.whole()}));
  ASSERT_EQ(begin(WrOpcode::kSend).kind, Kind::kDone);
  ASSERT_EQ(packet(0).kind, Kind::kDone);
  expect_refused(placement_->finish({.opcode = WrOpcode::kSendWithInvalidate,
                                     .length = kMtu,
                                     .invalidated_key = region_.key}),
                 WcStatus::kRemoteAccessError);
  EXPECT_THAT(qp_->receives.statuses(), ElementsAre(WcStatus::kRemoteInvalidRequest));
}

TEST_F(PacketsTest, AWriteIsJudgedByItsFirstPacket) {
  expect_refused(begin(WrOpcode::kRdmaWrite, 8193), WcStatus::kRemoteAccessError);
  expect_event(QpEvent::kAccessError);
}

// The receive of a write with immediate data is wanted by its last packet.
TEST_F(PacketsTest, AWriteThatEndsWithImmediateDataWaitsForAReceive) {
  ASSERT_EQ(begin(WrOpcode::kRdmaWrite, 2 * kMtu).kind, Kind::kDone);
  ASSERT_EQ(packet(0).kind, Kind::kDone);
  ASSERT_EQ(packet(1).kind, Kind::kDone);
  const MessageEnd end{
      .opcode = WrOpcode::kRdmaWriteWithImm, .length = 2 * kMtu, .imm = kImmediate};
  EXPECT_EQ(placement_->finish(end).kind, Kind::kReceiverNotReady);
  EXPECT_TRUE(placement_->is_live());
  EXPECT_TRUE(qp_->qp->responder().peer_waits());

  qp_->post(receive_request(9, {}));
  ASSERT_EQ(packet(1).kind, Kind::kDone) << "the last packet comes again";
  EXPECT_EQ(placement_->finish(end).kind, Kind::kDone);
  EXPECT_FALSE(qp_->qp->responder().peer_waits());
  ASSERT_EQ(qp_->receives.size(), 1u);
  EXPECT_EQ(qp_->receives.at(0).opcode, WcOpcode::kReceiveRdmaWithImm);
  EXPECT_EQ(qp_->receives.at(0).imm, kImmediate);
  EXPECT_EQ(qp_->receives.at(0).byte_len, 2 * kMtu);
}

TEST_F(PacketsTest, AWriteHasTheLengthThatItsFirstPacketSaid) {
  for (const std::uint64_t length : {kMtu, 3 * kMtu}) {
    qp_ = engine_.ready();
    ASSERT_EQ(begin(WrOpcode::kRdmaWrite, 2 * kMtu).kind, Kind::kDone);
    ASSERT_EQ(packet(0).kind, Kind::kDone);
    expect_refused(placement_->finish({.opcode = WrOpcode::kRdmaWrite, .length = length}),
                   WcStatus::kRemoteInvalidRequest);
  }
  qp_ = engine_.ready();
  ASSERT_EQ(begin(WrOpcode::kRdmaWrite, kMtu).kind, Kind::kDone);
  expect_refused(packet(1, 1), WcStatus::kRemoteInvalidRequest);
}

TEST_F(PacketsTest, AMessageEndsAsWhatItBegan) {
  ASSERT_EQ(begin(WrOpcode::kRdmaWrite, kMtu).kind, Kind::kDone);
  expect_refused(placement_->finish({.opcode = WrOpcode::kSend, .length = kMtu}),
                 WcStatus::kRemoteInvalidRequest);

  qp_ = engine_.ready();
  qp_->post(receive_request(5, {region_.whole()}));
  ASSERT_EQ(begin(WrOpcode::kSend).kind, Kind::kDone);
  expect_refused(placement_->finish({.opcode = WrOpcode::kRdmaWrite, .length = kMtu}),
                 WcStatus::kRemoteInvalidRequest);
  engine_.run();
  EXPECT_THAT(qp_->receives.statuses(), ElementsAre(WcStatus::kFlushed));
}

TEST_F(PacketsTest, AnAbandonedSendLeavesItsReceiveToTheNext) {
  qp_->post(receive_request(5, {region_.sge(0, 2 * kMtu)}));
  ASSERT_EQ(begin(WrOpcode::kSend).kind, Kind::kDone);
  ASSERT_EQ(packet(0).kind, Kind::kDone);
  ASSERT_EQ(begin(WrOpcode::kSend).kind, Kind::kDone) << "the peer has begun anew";
  ASSERT_EQ(packet(0, 10).kind, Kind::kDone);
  EXPECT_EQ(placement_->finish({.opcode = WrOpcode::kSend, .length = 10}).kind, Kind::kDone);
  EXPECT_THAT(qp_->receives.wr_ids(), ElementsAre(5));
  EXPECT_EQ(qp_->receives.at(0).byte_len, 10u);
}

TEST_F(PacketsTest, AnEndAfterTheQueuePairHasLeftIsNoAnswer) {
  ASSERT_EQ(begin(WrOpcode::kRdmaWrite, kMtu).kind, Kind::kDone);
  ASSERT_TRUE(fake::move(*qp_->qp, QpState::kError, {}));
  EXPECT_EQ(placement_->finish({.opcode = WrOpcode::kRdmaWrite, .length = kMtu}).kind,
            Kind::kNoAnswer);
}

}  // namespace
}  // namespace paravane::verbs
