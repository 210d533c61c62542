#include "verbs/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "testing/solo_engine.h"
#include "verbs/responder.h"

namespace paravane::verbs {
namespace {

using fake::default_attributes;
using fake::EngineBuffer;
using fake::EngineQp;
using fake::receive_request;
using fake::SoloEngine;
using testing::ElementsAre;
using testing::IsEmpty;
using Kind = Outcome::Kind;

class PlacementTest : public testing::Test {
 protected:
  Responder& responder() { return qp_->qp->responder(); }
  Placement begin(std::uint64_t length = 16) {
    auto begun = responder().begin({.opcode = WrOpcode::kSend, .length = length}, Arrives::kAtOnce);
    EXPECT_TRUE(begun);
    return std::move(*begun);
  }
  // It has ended, and nothing that is asked of it changes anything.
  void expect_ended(Placement& placement) {
    std::uint64_t before = 0;
    EXPECT_FALSE(placement.is_live());
    EXPECT_EQ(placement.extents(0, 16, out_).kind, Kind::kNoAnswer);
    EXPECT_EQ(placement.atomic(before).kind, Kind::kNoAnswer);
    EXPECT_EQ(placement.finish().kind, Kind::kNoAnswer);
  }

  SoloEngine engine_;
  EngineBuffer buffer_ = engine_.vm().buffer(4096);
  std::unique_ptr<EngineQp> qp_ = engine_.ready();
  ExtentList out_;
};

TEST_F(PlacementTest, FinishedOnceItShowsTheMessage) {
  qp_->post(receive_request(1, {buffer_.whole()}));
  Placement placement = begin();
  EXPECT_TRUE(placement.is_live());
  EXPECT_EQ(&placement.queue_pair(), qp_->qp.get());
  EXPECT_TRUE(responder().busy());
  EXPECT_EQ(placement.extents(0, 16, out_).kind, Kind::kDone);
  out_.clear();
  EXPECT_EQ(placement.finish().kind, Kind::kDone);
  EXPECT_THAT(qp_->receives.wr_ids(), ElementsAre(1));
  EXPECT_FALSE(responder().busy());
  expect_ended(placement);
}

TEST_F(PlacementTest, DroppedItLeavesTheReceiveForTheNext) {
  qp_->post(receive_request(1, {buffer_.whole()}));
  qp_->post(receive_request(2, {buffer_.whole()}));
  {
    const Placement dropped = begin();
    EXPECT_TRUE(responder().busy());
  }
  EXPECT_FALSE(responder().busy());
  EXPECT_THAT(qp_->receives.all(), IsEmpty());
  EXPECT_EQ(begin().finish().kind, Kind::kDone);
  EXPECT_THAT(qp_->receives.wr_ids(), ElementsAre(1));
}

TEST_F(PlacementTest, MovedItIsTheSameRequest) {
  qp_->post(receive_request(1, {buffer_.whole()}));
  std::optional<Placement> first = begin();
  Placement second = std::move(*first);
  expect_ended(*first);
  first.reset();  // drops nothing
  EXPECT_TRUE(second.is_live());
  EXPECT_TRUE(responder().busy());
  EXPECT_EQ(second.finish().kind, Kind::kDone);
  EXPECT_THAT(qp_->receives.wr_ids(), ElementsAre(1));
}

TEST_F(PlacementTest, AssignedAnotherItGivesUpItsOwn) {
  const auto other = engine_.ready();
  other->post(receive_request(7, {buffer_.whole()}));
  qp_->post(receive_request(1, {buffer_.whole()}));
  Placement placement = begin();
  auto begun =
      other->qp->responder().begin({.opcode = WrOpcode::kSend, .length = 16}, Arrives::kAtOnce);
  ASSERT_TRUE(begun);
  placement = std::move(*begun);
  EXPECT_FALSE(responder().busy());
  EXPECT_EQ(&placement.queue_pair(), other->qp.get());
  EXPECT_EQ(placement.finish().kind, Kind::kDone);
  EXPECT_THAT(other->receives.wr_ids(), ElementsAre(7));
  EXPECT_THAT(qp_->receives.all(), IsEmpty());
}

TEST_F(PlacementTest, TheNextRequestEndsIt) {
  qp_->post(receive_request(1, {buffer_.whole()}));
  Placement first = begin();
  Placement second = begin();
  expect_ended(first);
  EXPECT_TRUE(second.is_live());
  EXPECT_EQ(second.finish().kind, Kind::kDone);
  EXPECT_THAT(qp_->receives.wr_ids(), ElementsAre(1));
}

TEST_F(PlacementTest, ErrorAndResetEndIt) {
  for (const QpState state : {QpState::kError, QpState::kReset}) {
    qp_ = engine_.ready();
    qp_->post(receive_request(1, {buffer_.whole()}));
    Placement placement = begin();
    ASSERT_TRUE(fake::move(*qp_->qp, state, {}));
    expect_ended(placement);
    EXPECT_FALSE(responder().busy());
  }
}

TEST_F(PlacementTest, TheEndOfTheQueuePairEndsIt) {
  qp_->post(receive_request(1, {buffer_.whole()}));
  std::optional<Placement> placement = begin();
  qp_.reset();
  expect_ended(*placement);
  placement.reset();
}

TEST_F(PlacementTest, ARefusedRequestGivesNone) {
  const auto refused =
      responder().begin({.opcode = WrOpcode::kSend, .length = 16}, Arrives::kAtOnce);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Kind::kReceiverNotReady);
  EXPECT_FALSE(responder().busy());
}

// A peer over a network hears of a wrong key before it has sent its bytes.
TEST_F(PlacementTest, InPiecesTheFirstSliceIsJudgedAtOnce) {
  const RemoteRequest wrong{.opcode = WrOpcode::kRdmaWrite,
                            .remote_addr = buffer_.start,
                            .rkey = buffer_.key ^ 1,
                            .length = 16};
  {
    auto at_once = responder().begin(wrong, Arrives::kAtOnce);
    EXPECT_TRUE(at_once);
  }
  const auto refused = responder().begin(wrong, Arrives::kInPieces);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, WcStatus::kRemoteAccessError);
  EXPECT_EQ(qp_->state(), QpState::kError);
}

}  // namespace
}  // namespace paravane::verbs
