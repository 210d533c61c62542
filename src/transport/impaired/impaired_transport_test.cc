#include "transport/impaired/impaired_transport.h"

#include <gtest/gtest.h>

#include "testing/impaired_rig.h"

namespace paravane::transport_impaired {
namespace {

using fake::EngineQp;
using fake::ImpairedRig;
using std::chrono::milliseconds;
using verbs::WcStatus;

constexpr std::uint32_t kAll = kPartsPerMillion;

class ImpairedTransportTest : public testing::Test {
 protected:
  ImpairedTransportTest() {
    attributes_.timeout = 10;  // 4 ms
    attributes_.retry_count = 3;
  }
  void connect() { rig_.connect(rig_.a(), *qp_a_, rig_.b(), *qp_b_, attributes_); }
  void post_writes(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      qp_a_->post(fake::write_request(i, {from_.whole()}, to_.start, to_.key));
    }
  }
  // A datagram queue pair of A's and one of B's, that can talk.
  void make_datagram_qps() {
    constexpr auto kType = verbs::QpType::kUnreliableDatagram;
    ud_a_ = rig_.a().queue_pair(kType);
    ud_b_ = rig_.b().queue_pair(kType);
    for (EngineQp* qp : {ud_a_.get(), ud_b_.get()}) {
      ASSERT_TRUE(
          fake::bring_up(*qp->qp, verbs::QpState::kReadyToSend, fake::default_attributes()));
    }
    place_ = rig_.b().buffer(4096);
    for (unsigned i = 0; i < 200; ++i) ud_b_->post(fake::receive_request(i, {place_.whole()}));
  }
  void post_datagram(std::uint64_t wr_id, verbs::Immediate imm) {
    verbs::SendRequest request = fake::with_imm(fake::send_request(wr_id, {from_.sge(0, 64)}), imm);
    request.remote_qpn = ud_b_->qp->number();
    request.remote_qkey = fake::default_attributes().qkey;
    request.av.dgid = rig_.b().gid();
    ud_a_->post(request);
  }

  ImpairedRig rig_;
  verbs::QpAttributes attributes_ = fake::default_attributes();
  fake::EngineBuffer from_ = rig_.a().buffer(4096);
  fake::EngineBuffer to_ = rig_.b().buffer(4096);
  fake::EngineBuffer place_;
  std::unique_ptr<EngineQp> qp_a_ = rig_.a().queue_pair();
  std::unique_ptr<EngineQp> qp_b_ = rig_.b().queue_pair();
  std::unique_ptr<EngineQp> ud_a_;
  std::unique_ptr<EngineQp> ud_b_;
};

TEST_F(ImpairedTransportTest, NamesWhatItStandsBefore) {
  connect();
  EXPECT_EQ(qp_a_->qp->path_name(), "local+impaired");
  EXPECT_EQ(&rig_.impaired().carrier(), &rig_.local());
}

TEST_F(ImpairedTransportTest, RetriesMakeGoodForLoss) {
  rig_.impaired().set({.loss = 200'000, .seed = 5});
  attributes_.retry_count = 7;
  connect();
  post_writes(100);
  rig_.advance(std::chrono::seconds(5));

  EXPECT_EQ(qp_a_->sends.statuses(), std::vector(100, WcStatus::kSuccess));
  const Counts& counts = rig_.impaired().counts();
  EXPECT_GT(counts.lost, 5u);
  EXPECT_EQ(counts.messages, 100 + counts.lost + counts.answers_lost);
  EXPECT_EQ(rig_.a().counters().retries.value(), counts.lost + counts.answers_lost);
}

TEST_F(ImpairedTransportTest, LossOfEverythingEndsAsTheQueuePairSays) {
  rig_.impaired().set({.loss = kAll});
  connect();
  post_writes(1);
  rig_.advance(milliseconds(4 * 4 - 1));
  EXPECT_EQ(qp_a_->sends.size(), 0u);
  rig_.advance(milliseconds(3));
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kRetryExceeded});
  EXPECT_EQ(rig_.impaired().counts().messages, 4u);  // once, and three retries
}

TEST_F(ImpairedTransportTest, ReceiverNotReadyEndsAsTheQueuePairSays) {
  rig_.impaired().set({.rnr = kAll});
  attributes_.rnr_retry = 2;
  connect();
  post_writes(1);  // takes no receive
  qp_b_->post(fake::receive_request(1, {to_.whole()}));
  qp_a_->post(fake::send_request(9, {from_.whole()}));
  rig_.advance(milliseconds(100));

  EXPECT_EQ(qp_a_->sends.statuses(),
            (std::vector{WcStatus::kSuccess, WcStatus::kRnrRetryExceeded}));
  EXPECT_EQ(rig_.impaired().counts().receiver_not_ready, 3u);
  EXPECT_EQ(qp_b_->receives.size(), 0u);
}

TEST_F(ImpairedTransportTest, DelaysWithoutLosingTheOrder) {
  rig_.impaired().set({.reorder = 500'000, .delay = milliseconds(2), .seed = 3});
  connect();
  post_writes(20);
  rig_.advance(milliseconds(1));
  EXPECT_EQ(qp_a_->sends.size(), 0u);
  rig_.advance(std::chrono::seconds(1));
  ASSERT_EQ(qp_a_->sends.size(), 20u);
  for (unsigned i = 0; i < 20; ++i) EXPECT_EQ(qp_a_->sends.at(i).wr_id, i);
  EXPECT_EQ(rig_.impaired().counts().delayed, 20u);
  EXPECT_GT(rig_.impaired().counts().reordered, 0u);
}

TEST_F(ImpairedTransportTest, LetsDatagramsOvertakeEachOther) {
  make_datagram_qps();
  rig_.impaired().set({.reorder = 300'000, .seed = 3});
  for (std::uint8_t i = 0; i < 50; ++i) post_datagram(i, verbs::Immediate{std::byte{i}});
  rig_.advance(milliseconds(10));

  EXPECT_EQ(ud_a_->sends.size(), 50u);
  ASSERT_EQ(ud_b_->receives.size(), 50u);
  unsigned behind = 0;
  for (unsigned i = 1; i < 50; ++i) {
    behind += ud_b_->receives.at(i).imm < ud_b_->receives.at(i - 1).imm ? 1U : 0U;
  }
  EXPECT_GT(behind, 0u);
}

TEST_F(ImpairedTransportTest, KeepsTheBytesOfADelayedDatagram) {
  make_datagram_qps();
  rig_.impaired().set({.delay = milliseconds(2)});
  rig_.a().fill(from_, 1);
  post_datagram(1, {});
  rig_.turn();
  ASSERT_EQ(ud_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
  rig_.a().fill(from_, 2);  // the program may use its buffer again
  ud_a_.reset();            // and end
  rig_.advance(milliseconds(3));

  ASSERT_EQ(ud_b_->receives.size(), 1u);
  EXPECT_EQ(rig_.b().read(place_, 40, 64), fake::EngineVm::pattern(64, 1));
}

TEST_F(ImpairedTransportTest, LosesADelayedDatagramWhoseWayIsGone) {
  make_datagram_qps();
  rig_.impaired().set({.delay = milliseconds(2)});
  post_datagram(1, {});
  rig_.turn();
  rig_.directory().set_segment(verbs::AdapterId{1}, verbs::SegmentId{7});
  rig_.advance(milliseconds(3));
  EXPECT_EQ(ud_b_->receives.size(), 0u);
  EXPECT_EQ(rig_.impaired().counts().lost, 1u);
}

// The id of its adapter may be another VM's by the time that it is due.
TEST_F(ImpairedTransportTest, ForgetsTheDatagramsOfAnAdapterThatGoes) {
  make_datagram_qps();
  rig_.impaired().set({.delay = milliseconds(2)});
  post_datagram(1, {});
  rig_.turn();
  rig_.impaired().forget(verbs::AdapterId{1});
  EXPECT_NE(rig_.impaired().next_due(), kNever);
  rig_.impaired().forget(verbs::AdapterId{0});
  EXPECT_EQ(rig_.impaired().next_due(), kNever);
}

TEST_F(ImpairedTransportTest, HoldsSoManyDatagramsAndNoMore) {
  make_datagram_qps();
  rig_.impaired().set({.delay = std::chrono::seconds(1)});
  for (unsigned i = 0; i < kMaxHeldDatagrams + 5; ++i) post_datagram(i, {});
  for (unsigned i = 0; i < 100; ++i) rig_.turn();
  EXPECT_EQ(rig_.impaired().counts().lost, 5u);
}

TEST_F(ImpairedTransportTest, ForgetsWhatIsHeldForAQueuePairThatGoes) {
  rig_.impaired().set({.delay = milliseconds(2)});
  connect();
  post_writes(3);
  rig_.turn();
  EXPECT_NE(rig_.impaired().next_due(), kNever);
  qp_a_.reset();
  EXPECT_EQ(rig_.impaired().next_due(), kNever);
}

TEST_F(ImpairedTransportTest, CarriesWhatIsHeldThoughItIsSetAnew) {
  rig_.impaired().set({.delay = milliseconds(2)});
  connect();
  post_writes(3);
  rig_.turn();
  rig_.directory().set_detour({});
  rig_.directory().detours_changed();
  rig_.impaired().set({});
  rig_.advance(milliseconds(3));
  EXPECT_EQ(qp_a_->sends.statuses(), std::vector(3, WcStatus::kSuccess));
  EXPECT_EQ(qp_a_->qp->path_name(), "local");
}

// A guest may make and end queue pairs without end.
TEST(ImpairedTransport, RemembersSoManyQueuePairsAndNoMore) {
  ImpairedRig rig({.loss = 10'000});
  std::vector<std::unique_ptr<EngineQp>> all;
  for (unsigned i = 0; i < kMaxFlows + 100; ++i) {
    EngineQp& one = *all.emplace_back(rig.a().queue_pair());
    ImpairedRig::bring_up_to(one, verbs::QpState::kReadyToSend, rig.b().gid(), 0x77,
                             fake::default_attributes());
    one.post(fake::send_request(i, {}));
    rig.turn();
  }
  EXPECT_LE(rig.impaired().flows(), kMaxFlows);
  EXPECT_GE(rig.impaired().flows(), 100u);
}

}  // namespace
}  // namespace paravane::transport_impaired
