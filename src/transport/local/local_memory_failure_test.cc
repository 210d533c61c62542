// A VMM shrinks its guest's memory file under a copy: its own VM loses its
// device, the other one gets an answer.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guestmem/memory_failure.h"
#include "testing/engine_rig.h"

namespace paravane::transport_local {
namespace {

using fake::EngineBuffer;
using fake::EngineQp;
using fake::EngineRig;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using verbs::QpEvent;
using verbs::QpState;
using verbs::WcStatus;

class LocalMemoryFailureTest : public testing::Test {
 protected:
  LocalMemoryFailureTest() {
    EXPECT_TRUE(install_memory_failure_handler());
    rig_.connect(rig_.a(), *qp_a_, rig_.b(), *qp_b_);
  }

  EngineRig rig_;
  EngineBuffer at_a_ = rig_.a().buffer(8192);
  EngineBuffer at_b_ = rig_.b().buffer(8192);
  std::unique_ptr<EngineQp> qp_a_ = rig_.a().queue_pair();
  std::unique_ptr<EngineQp> qp_b_ = rig_.b().queue_pair();
};

TEST_F(LocalMemoryFailureTest, PeersMemoryFailsUnderAWrite) {
  rig_.b().ram().truncate(0);
  qp_a_->post(fake::write_request(1, {at_a_.whole()}, at_b_.start, at_b_.key));
  ASSERT_TRUE(rig_.run());

  EXPECT_TRUE(rig_.b().memory().failed());
  EXPECT_FALSE(rig_.a().memory().failed());
  EXPECT_THAT(qp_a_->sends.statuses(), ElementsAre(WcStatus::kRemoteOperationError));
  EXPECT_EQ(qp_b_->state(), QpState::kError);
  EXPECT_THAT(rig_.b().events().all(), ElementsAre(Pair(qp_b_->qp->spec().tag, QpEvent::kFatal)));
  EXPECT_THAT(rig_.a().events().all(), IsEmpty());
}

TEST_F(LocalMemoryFailureTest, OwnMemoryFailsUnderAWrite) {
  rig_.a().ram().truncate(0);
  qp_a_->post(fake::write_request(1, {at_a_.whole()}, at_b_.start, at_b_.key));
  ASSERT_TRUE(rig_.run());

  EXPECT_TRUE(rig_.a().memory().failed());
  EXPECT_THAT(qp_a_->sends.statuses(), ElementsAre(WcStatus::kFatal));
  EXPECT_EQ(qp_a_->state(), QpState::kError);
  EXPECT_THAT(rig_.a().events().all(), ElementsAre(Pair(qp_a_->qp->spec().tag, QpEvent::kFatal)));
  EXPECT_EQ(qp_b_->state(), QpState::kReadyToSend);
  EXPECT_FALSE(qp_b_->qp->responder().busy());
}

TEST_F(LocalMemoryFailureTest, ReadersMemoryFailsUnderARead) {
  rig_.a().ram().truncate(0);
  qp_a_->post(fake::read_request(1, {at_a_.whole()}, at_b_.start, at_b_.key));
  ASSERT_TRUE(rig_.run());
  EXPECT_THAT(qp_a_->sends.statuses(), ElementsAre(WcStatus::kFatal));
  EXPECT_EQ(qp_b_->state(), QpState::kReadyToSend);
}

TEST_F(LocalMemoryFailureTest, MemoryThatHasFailedServesNothingMore) {
  rig_.b().ram().truncate(0);
  qp_a_->post(fake::write_request(1, {at_a_.whole()}, at_b_.start, at_b_.key));
  ASSERT_TRUE(rig_.run());
  const auto ours = rig_.a().queue_pair();
  const auto theirs = rig_.b().queue_pair();
  rig_.connect(rig_.a(), *ours, rig_.b(), *theirs);
  ours->post(fake::write_request(2, {at_a_.whole()}, at_b_.start, at_b_.key));
  ASSERT_TRUE(rig_.run());
  EXPECT_THAT(ours->sends.statuses(), ElementsAre(WcStatus::kRemoteOperationError));
}

TEST_F(LocalMemoryFailureTest, DatagramReceiversMemoryFails) {
  constexpr auto kUd = verbs::QpType::kUnreliableDatagram;
  const auto from = rig_.a().queue_pair(kUd);
  const auto to = rig_.b().queue_pair(kUd);
  ASSERT_TRUE(fake::bring_up(*from->qp, QpState::kReadyToSend, fake::default_attributes()));
  ASSERT_TRUE(fake::bring_up(*to->qp, QpState::kReadyToSend, fake::default_attributes()));
  to->post(fake::receive_request(1, {at_b_.whole()}));
  rig_.b().ram().truncate(0);
  verbs::SendRequest request = fake::send_request(2, {at_a_.sge(0, 100)});
  request.remote_qpn = to->qp->number();
  request.remote_qkey = fake::default_attributes().qkey;
  request.av.dgid = rig_.b().gid();
  from->post(request);
  ASSERT_TRUE(rig_.run());

  EXPECT_THAT(from->sends.statuses(), ElementsAre(WcStatus::kSuccess));
  EXPECT_EQ(from->state(), QpState::kReadyToSend);
  EXPECT_EQ(to->state(), QpState::kError);
  EXPECT_EQ(rig_.b().counters().datagrams_dropped.value(), 1u);
}

}  // namespace
}  // namespace paravane::transport_local
