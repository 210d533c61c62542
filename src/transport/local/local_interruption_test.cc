// Whatever may happen to either side while a long message is half copied.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/local_transport_fixture.h"

namespace paravane::transport_local {
namespace {

using fake::EngineBuffer;
using fake::EngineRig;
using fake::EngineVm;
using fake::kMiB;
using fake::write_request;
using testing::ElementsAre;
using testing::IsEmpty;
using verbs::Budget;
using verbs::QpState;
using verbs::WcStatus;

class LocalInterruptionTest : public fake::LocalTransportFixture {};

TEST_F(LocalInterruptionTest, LongMessagesGoOnInLaterTurns) {
  begin_write();
  EXPECT_TRUE(rig_.run());
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
  EXPECT_EQ(rig_.b().read(to_, 0, to_.length), EngineVm::pattern(to_.length, 1));
  EXPECT_FALSE(rig_.local().has_work());
}

TEST_F(LocalInterruptionTest, PollStaysWithinItsBudget) {
  begin_write();
  Budget budget{.bytes = 300'000, .operations = 64};
  rig_.local().poll(rig_.now(), budget);
  EXPECT_EQ(budget.bytes, 300'000 - 2 * 262'144);  // the last slice may pass it
  EXPECT_EQ(budget.operations, 62);
}

TEST_F(LocalInterruptionTest, RequesterDestroyedInTheMiddle) {
  begin_send();
  EXPECT_TRUE(qp_b_->qp->responder().busy());
  qp_a_.reset();
  EXPECT_FALSE(rig_.local().has_work());
  EXPECT_FALSE(qp_b_->qp->responder().busy());
  EXPECT_TRUE(rig_.run());
  EXPECT_THAT(qp_b_->receives.all(), IsEmpty());
  EXPECT_EQ(last_byte_at_b(), std::byte{0});

  ASSERT_TRUE(fake::move(*qp_b_->qp, QpState::kError, {}));
  EXPECT_TRUE(rig_.run());
  EXPECT_THAT(qp_b_->receives.wr_ids(), ElementsAre(7));
  EXPECT_THAT(qp_b_->receives.statuses(), ElementsAre(WcStatus::kFlushed));
}

TEST_F(LocalInterruptionTest, ResponderDestroyedInTheMiddle) {
  begin_write();
  qp_b_.reset();
  give_up();
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
  EXPECT_EQ(last_byte_at_b(), std::byte{0});
}

TEST_F(LocalInterruptionTest, SuccessorWithTheSameNumberIsNotTakenForThePeer) {
  begin_write();
  const std::uint32_t number = qp_b_->qp->number();
  qp_b_.reset();
  qp_b_ = rig_.b().queue_pair(verbs::QpType::kReliableConnected, false, number);
  EngineRig::bring_up_to(*qp_b_, QpState::kReadyToSend, rig_.a().gid(), qp_a_->qp->number(),
                         attributes_);
  // It is connected all the same, so the message begins again, whole.
  give_up();
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
  EXPECT_EQ(qp_a_->qp->stats().retries, 1u);
  EXPECT_EQ(rig_.b().read(to_, 0, to_.length), EngineVm::pattern(to_.length, 1));
}

TEST_F(LocalInterruptionTest, SuccessorsOwnMessageIsLeftAlone) {
  begin_write();
  const std::uint32_t number = qp_b_->qp->number();
  qp_b_.reset();
  qp_b_ = rig_.b().queue_pair(verbs::QpType::kReliableConnected, false, number);
  const auto other = rig_.a().queue_pair();
  rig_.connect(rig_.a(), *other, rig_.b(), *qp_b_, attributes_);
  other->post(write_request(2, {from_.whole()}, to_.start, to_.key));
  Budget budget{.bytes = 1, .operations = 64};
  rig_.a().adapter().run(rig_.now(), budget);
  ASSERT_TRUE(qp_b_->qp->responder().busy());

  qp_a_.reset();  // its message was for the predecessor
  EXPECT_TRUE(qp_b_->qp->responder().busy());
  EXPECT_TRUE(rig_.run());
  EXPECT_EQ(other->sends.statuses(), std::vector{WcStatus::kSuccess});
  EXPECT_EQ(other->qp->stats().retries, 0u);
}

TEST_F(LocalInterruptionTest, ResponderResetInTheMiddle) {
  begin_send();
  ASSERT_TRUE(fake::move(*qp_b_->qp, QpState::kReset, {}));
  give_up();
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
  EXPECT_THAT(qp_b_->receives.all(), IsEmpty());
}

TEST_F(LocalInterruptionTest, ResponderToErrorInTheMiddleFlushesItsReceive) {
  begin_send();
  ASSERT_TRUE(fake::move(*qp_b_->qp, QpState::kError, {}));
  give_up();
  EXPECT_EQ(qp_b_->receives.statuses(), std::vector{WcStatus::kFlushed});
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
}

TEST_F(LocalInterruptionTest, RequesterToErrorInTheMiddleFlushesItsSend) {
  begin_write();
  ASSERT_TRUE(fake::move(*qp_a_->qp, QpState::kError, {}));
  EXPECT_FALSE(rig_.local().has_work());
  EXPECT_TRUE(rig_.run());
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kFlushed});
  EXPECT_EQ(last_byte_at_b(), std::byte{0});
  EXPECT_EQ(qp_b_->state(), QpState::kReadyToSend);
}

TEST_F(LocalInterruptionTest, PeersRegionRemovedInTheMiddle) {
  begin_write();
  ASSERT_TRUE(rig_.b().adapter().regions().remove(to_.key));
  EXPECT_TRUE(rig_.run());
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kRemoteAccessError});
  EXPECT_EQ(qp_b_->state(), QpState::kError);
  EXPECT_EQ(last_byte_at_b(), std::byte{0});
}

TEST_F(LocalInterruptionTest, OwnRegionRemovedInTheMiddle) {
  begin_write();
  ASSERT_TRUE(rig_.a().adapter().regions().remove(from_.key));
  EXPECT_TRUE(rig_.run());
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kLocalProtectionError});
  EXPECT_EQ(qp_b_->state(), QpState::kReadyToSend);
  EXPECT_FALSE(qp_b_->qp->responder().busy());
}

TEST_F(LocalInterruptionTest, ReceiversRegionRemovedInTheMiddle) {
  begin_send();
  ASSERT_TRUE(rig_.b().adapter().regions().remove(to_.key));
  EXPECT_TRUE(rig_.run());
  EXPECT_EQ(qp_b_->receives.statuses(), std::vector{WcStatus::kLocalProtectionError});
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kRemoteOperationError});
}

TEST_F(LocalInterruptionTest, PeersMemoryAbsentInTheMiddleAndBack) {
  begin_send();
  rig_.b().memory().unmap(rig_.b().ram().base(), rig_.b().ram().size());
  rig_.advance(std::chrono::milliseconds(100));
  EXPECT_EQ(qp_a_->sends.size(), 0u);
  rig_.b().ram().show(rig_.b().memory());
  rig_.advance(std::chrono::milliseconds(100));
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
  EXPECT_EQ(qp_b_->receives.wr_ids(), std::vector<std::uint64_t>{7});
  EXPECT_EQ(rig_.b().read(to_, 0, to_.length), EngineVm::pattern(to_.length, 1));
}

TEST_F(LocalInterruptionTest, PeersMemoryThatStaysAbsentFailsTheRequest) {
  begin_write();
  rig_.b().memory().unmap(rig_.b().ram().base(), rig_.b().ram().size());
  give_up();
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kRemoteOperationError});
  EXPECT_EQ(qp_b_->state(), QpState::kReadyToSend);
}

TEST_F(LocalInterruptionTest, OwnMemoryThatStaysAbsentFailsTheRequest) {
  begin_write();
  rig_.a().memory().unmap(rig_.a().ram().base(), rig_.a().ram().size());
  give_up();
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kLocalProtectionError});
}

TEST_F(LocalInterruptionTest, DetachedAdapterDoesNotAnswer) {
  begin_write();
  rig_.local().detach(rig_.b().adapter());
  give_up();
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
  EXPECT_EQ(last_byte_at_b(), std::byte{0});
}

TEST_F(LocalInterruptionTest, DetachedRequesterReachesNobody) {
  begin_write();
  rig_.local().detach(rig_.a().adapter());
  give_up();
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
  qp_a_.reset();
  EXPECT_FALSE(rig_.local().has_work());
}

TEST_F(LocalInterruptionTest, VmThatGoesAwayIsRetriedAndGivenUp) {
  begin_write();
  qp_b_.reset();
  rig_.remove(1);
  give_up();
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
}

TEST_F(LocalInterruptionTest, QueuePairThatBreaksItselfInTheMiddle) {
  rig_.connect(rig_.a(), *qp_a_, rig_.a(), *qp_a_, attributes_);
  const EngineBuffer here = rig_.a().buffer(kMiB);
  qp_a_->post(write_request(1, {from_.whole()}, here.start, here.key));
  rig_.turn({.bytes = 1, .operations = 64});
  ASSERT_TRUE(rig_.local().has_work());
  ASSERT_TRUE(rig_.a().adapter().regions().remove(here.key));
  EXPECT_TRUE(rig_.run());
  EXPECT_EQ(qp_a_->state(), QpState::kError);
  EXPECT_EQ(qp_a_->sends.size(), 1u);
  EXPECT_NE(qp_a_->sends.at(0).status, WcStatus::kSuccess);
  EXPECT_FALSE(rig_.local().has_work());
}

}  // namespace
}  // namespace paravane::transport_local
