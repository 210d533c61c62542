#include "transport/local/local_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/local_transport_fixture.h"

namespace paravane::transport_local {
namespace {

using fake::EngineBuffer;
using fake::EngineQp;
using fake::EngineRig;
using fake::kMiB;
using fake::read_request;
using fake::receive_request;
using fake::send_request;
using fake::write_request;
using testing::Each;
using testing::ElementsAre;
using verbs::QpState;
using verbs::WcStatus;

class LocalTransportTest : public fake::LocalTransportFixture {};

TEST_F(LocalTransportTest, PeerWithoutItsGidDoesNotAnswer) {
  begin_write();
  ASSERT_TRUE(rig_.b().adapter().unbind_gid(0));
  give_up();
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
  EXPECT_EQ(last_byte_at_b(), std::byte{0});
}

TEST_F(LocalTransportTest, WeWithoutOurGidReachNobody) {
  connect();
  ASSERT_TRUE(rig_.a().adapter().unbind_gid(0));
  qp_a_->post(send_request(1, {}));
  give_up();
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
}

TEST_F(LocalTransportTest, PeerMustNameUsByNumber) {
  connect();
  const auto other = rig_.a().queue_pair();
  EngineRig::bring_up_to(*other, QpState::kReadyToSend, rig_.b().gid(), qp_b_->qp->number(),
                         attributes_);
  other->post(write_request(1, {}, 0, 0));
  give_up();
  EXPECT_EQ(other->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
}

TEST_F(LocalTransportTest, PeerMustNameUsByGid) {
  EngineRig three(3);
  const auto ours = three.vm(0).queue_pair();
  const auto theirs = three.vm(1).queue_pair();
  EngineRig::bring_up_to(*ours, QpState::kReadyToSend, three.vm(1).gid(), theirs->qp->number(),
                         attributes_);
  // Our number, but at somebody else's address.
  EngineRig::bring_up_to(*theirs, QpState::kReadyToSend, three.vm(2).gid(), ours->qp->number(),
                         attributes_);
  ours->post(write_request(1, {}, 0, 0));
  three.advance(std::chrono::seconds(3));
  EXPECT_EQ(ours->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
}

TEST_F(LocalTransportTest, PeerMustNameTheGidThatWeUse) {
  constexpr verbs::Gid kSecond{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 1}};
  ASSERT_TRUE(rig_.a().adapter().bind_gid(2, kSecond, verbs::GidType::kRoceV2));
  EngineRig::bring_up_to(*qp_a_, QpState::kReadyToSend, rig_.b().gid(), qp_b_->qp->number(),
                         attributes_, 0);
  EngineRig::bring_up_to(*qp_b_, QpState::kReadyToSend, kSecond, qp_a_->qp->number(), attributes_);
  qp_a_->post(write_request(1, {}, 0, 0));
  give_up();
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
}

TEST_F(LocalTransportTest, GidThatWentToItsRightfulOwnerCarriesNothing) {
  constexpr fabric::MacAddress kMac{2, 0, 0, 0, 0, 9};
  const verbs::Gid taken = fabric::link_local_gid(kMac);
  ASSERT_TRUE(rig_.a().adapter().bind_gid(2, taken, verbs::GidType::kRoceV2));
  EngineRig::bring_up_to(*qp_a_, QpState::kReadyToSend, rig_.b().gid(), qp_b_->qp->number(),
                         attributes_, 2);
  EngineRig::bring_up_to(*qp_b_, QpState::kReadyToSend, taken, qp_a_->qp->number(), attributes_);
  qp_a_->post(write_request(1, {}, 0, 0));
  EXPECT_TRUE(rig_.run());
  ASSERT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});

  const auto owner = rig_.directory().join(verbs::AdapterId{9}, "late", kMac);
  qp_a_->post(write_request(2, {}, 0, 0));
  give_up();
  EXPECT_EQ(qp_a_->sends.statuses().back(), WcStatus::kRetryExceeded);
}

TEST_F(LocalTransportTest, PeerMustUseTheSameRoceVersion) {
  EngineRig::bring_up_to(*qp_a_, QpState::kReadyToSend, rig_.b().gid(), qp_b_->qp->number(),
                         attributes_, 0);
  EngineRig::bring_up_to(*qp_b_, QpState::kReadyToSend, rig_.a().gid(), qp_a_->qp->number(),
                         attributes_, 1);
  qp_a_->post(write_request(1, {}, 0, 0));
  give_up();
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
}

TEST_F(LocalTransportTest, C65PostedReceiveEndsTheRnrWait) {
  attributes_.min_rnr_timer = 0;  // 655 ms
  connect();
  qp_a_->post(send_request(1, {}));
  EXPECT_TRUE(rig_.run());
  ASSERT_EQ(qp_a_->sends.size(), 0u);
  qp_b_->qp->kick();  // a doorbell, but still no receive
  EXPECT_TRUE(rig_.run());
  EXPECT_EQ(qp_a_->qp->stats().rnr_waits, 1u);

  qp_b_->post(receive_request(2, {}));
  EXPECT_TRUE(rig_.run());
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
  EXPECT_THAT(qp_b_->receives.wr_ids(), ElementsAre(2));
  EXPECT_EQ(rig_.timers().size(), 0u);
}

TEST_F(LocalTransportTest, C65PostedReceiveEndsTheRnrWaitOfAPeerInRtr) {
  attributes_.min_rnr_timer = 0;
  EngineRig::bring_up_to(*qp_a_, QpState::kReadyToSend, rig_.b().gid(), qp_b_->qp->number(),
                         attributes_);
  EngineRig::bring_up_to(*qp_b_, QpState::kReadyToReceive, rig_.a().gid(), qp_a_->qp->number(),
                         attributes_);
  qp_a_->post(send_request(1, {}));
  EXPECT_TRUE(rig_.run());
  qp_b_->post(receive_request(2, {}));
  EXPECT_TRUE(rig_.run());
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
}

TEST_F(LocalTransportTest, ReceiveThatEndedAWaitIsFlushedWhenNobodyComes) {
  connect();
  qp_a_->post(send_request(1, {}));
  EXPECT_TRUE(rig_.run());
  qp_a_.reset();
  qp_b_->post(receive_request(2, {}));
  EXPECT_TRUE(rig_.run());
  ASSERT_TRUE(fake::move(*qp_b_->qp, QpState::kError, {}));
  EXPECT_TRUE(rig_.run());
  EXPECT_THAT(qp_b_->receives.statuses(), ElementsAre(WcStatus::kFlushed));
}

TEST_F(LocalTransportTest, PeerThatComesLateIsFound) {
  EngineRig::bring_up_to(*qp_a_, QpState::kReadyToSend, rig_.b().gid(), qp_b_->qp->number(),
                         attributes_);
  qp_a_->post(write_request(1, {}, 0, 0));
  rig_.advance(std::chrono::milliseconds(1));
  EngineRig::bring_up_to(*qp_b_, QpState::kReadyToReceive, rig_.a().gid(), qp_a_->qp->number(),
                         attributes_);
  rig_.advance(std::chrono::milliseconds(10));
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
}

TEST_F(LocalTransportTest, QueuePairConnectedToItself) {
  rig_.connect(rig_.a(), *qp_a_, rig_.a(), *qp_a_, attributes_);
  const EngineBuffer here = rig_.a().buffer(kMiB);
  qp_a_->post(receive_request(2, {here.whole()}));
  qp_a_->post(send_request(1, {from_.whole()}));
  qp_a_->post(read_request(3, {here.sge(0, 100)}, from_.start + 500, from_.key));
  EXPECT_TRUE(rig_.run());
  EXPECT_THAT(qp_a_->sends.wr_ids(), ElementsAre(1, 3));
  EXPECT_THAT(qp_a_->sends.statuses(), Each(WcStatus::kSuccess));
  EXPECT_EQ(qp_a_->receives.at(0).byte_len, kMiB);
  EXPECT_EQ(rig_.a().read(here, 100, 1000), rig_.a().read(from_, 100, 1000));
  EXPECT_EQ(rig_.a().read(here, 0, 100), rig_.a().read(from_, 500, 100));
}

TEST_F(LocalTransportTest, QueuePairThatBreaksItself) {
  rig_.connect(rig_.a(), *qp_a_, rig_.a(), *qp_a_, attributes_);
  qp_a_->post(write_request(1, {from_.whole()}, 0, 0xBAD));
  qp_a_->post(send_request(2, {}));
  EXPECT_TRUE(rig_.run());
  EXPECT_THAT(qp_a_->sends.statuses(),
              ElementsAre(WcStatus::kRemoteAccessError, WcStatus::kFlushed));
}

TEST_F(LocalTransportTest, TwoQueuePairsOfOneVm) {
  const auto other = rig_.a().queue_pair();
  rig_.connect(rig_.a(), *qp_a_, rig_.a(), *other, attributes_);
  const EngineBuffer here = rig_.a().buffer(kMiB);
  qp_a_->post(write_request(1, {from_.sge(0, kMiB)}, here.start, here.key));
  EXPECT_TRUE(rig_.run());
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
  EXPECT_EQ(rig_.a().read(here, 0, kMiB), rig_.a().read(from_, 0, kMiB));
}

TEST_F(LocalTransportTest, AdaptersTakeTurnsWhateverTheirNumberOfQueuePairs) {
  EngineRig rig(3);
  const EngineBuffer greedy = rig.vm(0).buffer(8 * kMiB);
  const EngineBuffer modest = rig.vm(1).buffer(8 * kMiB);
  const EngineBuffer sink = rig.vm(2).buffer(8 * kMiB);
  std::vector<std::unique_ptr<EngineQp>> qps;
  const auto start = [&](unsigned vm, const EngineBuffer& from) {
    auto ours = rig.vm(vm).queue_pair();
    auto theirs = rig.vm(2).queue_pair();
    rig.connect(rig.vm(vm), *ours, rig.vm(2), *theirs);
    ours->post(write_request(1, {from.whole()}, sink.start, sink.key));
    qps.push_back(std::move(ours));
    qps.push_back(std::move(theirs));
  };
  for (int i = 0; i < 20; ++i) start(0, greedy);
  start(1, modest);
  EngineQp& waiting = *qps[qps.size() - 2];

  int turns = 0;
  for (; waiting.sends.size() == 0 && turns < 1000; ++turns) {
    rig.turn({.bytes = 2 * 262'144, .operations = 256});
  }
  // 32 slices of its own: one of every two.
  EXPECT_LE(turns, 40);
  EXPECT_TRUE(rig.run());
}

TEST_F(LocalTransportTest, PathGoesWithTheGid) {
  connect();
  EXPECT_EQ(qp_a_->qp->path_name(), "local");
  ASSERT_TRUE(rig_.b().adapter().unbind_gid(0));
  EXPECT_EQ(qp_a_->qp->path(), nullptr);
  ASSERT_TRUE(rig_.b().adapter().bind_gid(0, rig_.b().gid(), verbs::GidType::kRoceV2));
  EXPECT_NE(qp_a_->qp->path(), nullptr);
  qp_a_->post(write_request(1, {}, 0, 0));
  EXPECT_TRUE(rig_.run());
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
}

}  // namespace
}  // namespace paravane::transport_local
