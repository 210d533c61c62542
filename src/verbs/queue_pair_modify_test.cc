#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/scripted_transport.h"
#include "testing/solo_engine.h"
#include "verbs/queue_pair.h"

namespace paravane::verbs {
namespace {

using enum QpState;
using fake::default_attributes;
using fake::EngineQp;
using fake::move;
using fake::send_request;
using fake::SoloEngine;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kModifiedRc = QpType::kReliableConnected;
constexpr auto kModifiedUd = QpType::kUnreliableDatagram;

class QueuePairModifyTest : public testing::Test {
 protected:
  static QpAttributes connected() {
    QpAttributes attributes = default_attributes();
    attributes.dest_qpn = 77;
    attributes.av.dgid = SoloEngine::kPeer;
    return attributes;
  }
  // A new queue pair, in `state`, one of RESET to RTS.
  std::unique_ptr<EngineQp> in(QpState state, QpType type = kModifiedRc) {
    std::unique_ptr<EngineQp> qp = engine_.vm().queue_pair(type);
    const bool up = state == kReset || fake::bring_up(*qp->qp, state, connected());
    EXPECT_TRUE(up);
    return qp;
  }
  static Status modify(EngineQp& qp, const QpAttributes& attributes, QpAttrMask mask) {
    return qp.qp->modify(attributes, mask, Instant{});
  }
  static Errc error_of(const Status& status) { return status ? Errc::kIo : status.error().code; }

  SoloEngine engine_;
};

TEST_F(QueuePairModifyTest, C37QueryTellsWhatWasSet) {
  const auto qp = in(kReadyToSend);
  const QpAttributes told = qp->qp->query();
  EXPECT_EQ(told.state, kReadyToSend);
  EXPECT_EQ(told.current_state, kReadyToSend);
  EXPECT_EQ(told.dest_qpn, 77u);
  EXPECT_EQ(told.path_mtu, 5u);
  EXPECT_EQ(told.timeout, 14);
  EXPECT_EQ(told.access, default_attributes().access);
  EXPECT_EQ(told.av.dgid, SoloEngine::kPeer);
}

TEST_F(QueuePairModifyTest, AttributesOutsideTheMaskAreNotLookedAt) {
  const auto qp = in(kInit);
  QpAttributes garbage;
  garbage.path_mtu = 99;
  garbage.port = 77;
  garbage.state = kError;
  garbage.access = kAccessRemoteRead;
  ASSERT_TRUE(modify(*qp, garbage, kAttrAccess));  // INIT -> INIT: no state given
  EXPECT_EQ(qp->state(), kInit);
  EXPECT_EQ(qp->qp->query().access, kAccessRemoteRead);
  EXPECT_EQ(qp->qp->query().port, 1);
}

TEST_F(QueuePairModifyTest, C25FailedModifyChangesNothing) {
  const auto qp = in(kInit);
  QpAttributes bad = connected();
  bad.path_mtu = 6;
  EXPECT_EQ(error_of(move(*qp->qp, kReadyToReceive, bad)), Errc::kInvalidArgument);
  EXPECT_EQ(qp->state(), kInit);
  EXPECT_EQ(qp->qp->dest_qpn(), 0u);
  EXPECT_TRUE(move(*qp->qp, kReadyToReceive, connected()));
}

TEST_F(QueuePairModifyTest, ValuesAreChecked) {
  const auto refuses = [this](auto change) {
    QpAttributes attributes = connected();
    change(attributes);
    const auto qp = engine_.vm().queue_pair();
    return !fake::bring_up(*qp->qp, kReadyToSend, attributes);
  };
  EXPECT_FALSE(refuses([](QpAttributes&) {}));
  EXPECT_TRUE(refuses([](QpAttributes& a) { a.port = 0; }));
  EXPECT_TRUE(refuses([](QpAttributes& a) { a.port = 2; }));
  EXPECT_TRUE(refuses([](QpAttributes& a) { a.pkey_index = 1; }));
  EXPECT_TRUE(refuses([](QpAttributes& a) { a.path_mtu = 0; }));
  EXPECT_TRUE(refuses([](QpAttributes& a) { a.dest_qpn = 0x100'0000; }));
  EXPECT_TRUE(refuses([](QpAttributes& a) { a.receive_psn = 0x100'0000; }));
  EXPECT_TRUE(refuses([](QpAttributes& a) { a.send_psn = 0x100'0000; }));
  EXPECT_TRUE(refuses([](QpAttributes& a) { a.min_rnr_timer = 32; }));
  EXPECT_TRUE(refuses([](QpAttributes& a) { a.timeout = 32; }));
  EXPECT_TRUE(refuses([](QpAttributes& a) { a.retry_count = 8; }));
  EXPECT_TRUE(refuses([](QpAttributes& a) { a.rnr_retry = 8; }));
  EXPECT_TRUE(refuses([](QpAttributes& a) { a.av.sgid_index = 5; }));  // nothing bound
  EXPECT_TRUE(refuses([](QpAttributes& a) { a.av.sgid_index = 255; }));
  EXPECT_TRUE(refuses([](QpAttributes& a) { a.av.dgid.raw[0] = 0xFF; }));  // multicast
}

TEST_F(QueuePairModifyTest, UnknownMaskBitsAreRefused) {
  const auto qp = in(kInit);
  EXPECT_FALSE(modify(*qp, {}, 1u << 21));
  EXPECT_FALSE(modify(*qp, {}, kAttrCapabilities));
  EXPECT_FALSE(modify(*qp, {}, kAttrAlternatePath));
}

TEST_F(QueuePairModifyTest, StateOutsideTheEnumIsRefused) {
  const auto qp = in(kInit);
  QpAttributes attributes;
  attributes.state = static_cast<QpState>(7);
  EXPECT_EQ(error_of(modify(*qp, attributes, kAttrState)), Errc::kBadState);
  attributes.state = static_cast<QpState>(255);
  EXPECT_EQ(error_of(modify(*qp, attributes, kAttrState)), Errc::kBadState);
  EXPECT_EQ(qp->state(), kInit);
}

TEST_F(QueuePairModifyTest, CurrentStateMustBeTrue) {
  const auto qp = in(kReadyToSend);
  QpAttributes attributes = default_attributes();
  attributes.current_state = kSendQueueDrain;
  EXPECT_EQ(error_of(move(*qp->qp, kReadyToSend, attributes, kAttrCurrentState)), Errc::kBadState);
  attributes.current_state = kReadyToSend;
  EXPECT_TRUE(move(*qp->qp, kReadyToSend, attributes, kAttrCurrentState));
}

TEST_F(QueuePairModifyTest, DatagramUsersMayBelieveInASendQueueError) {
  const auto datagrams = in(kReadyToSend, kModifiedUd);
  QpAttributes attributes = default_attributes();
  attributes.current_state = kSendQueueError;
  EXPECT_TRUE(move(*datagrams->qp, kReadyToSend, attributes, kAttrCurrentState));
  EXPECT_EQ(datagrams->state(), kReadyToSend);

  const auto in_error = in(kReadyToSend, kModifiedUd);
  ASSERT_TRUE(move(*in_error->qp, kError, {}));
  EXPECT_FALSE(move(*in_error->qp, kReadyToSend, attributes, kAttrCurrentState));

  const auto not_yet_sending = in(kReadyToReceive, kModifiedUd);
  EXPECT_FALSE(move(*not_yet_sending->qp, kReadyToSend, attributes, kAttrCurrentState));

  const auto connected = in(kReadyToSend, kModifiedRc);
  EXPECT_FALSE(move(*connected->qp, kReadyToSend, attributes, kAttrCurrentState));
}

TEST_F(QueuePairModifyTest, ResetToErrorIsRefused) {
  const auto qp = in(kReset);
  EXPECT_EQ(error_of(move(*qp->qp, kError, {})), Errc::kBadState);
  EXPECT_EQ(qp->state(), kReset);
}

TEST_F(QueuePairModifyTest, EveryStateCanBeReset) {
  for (const QpState state : {kReset, kInit, kReadyToReceive, kReadyToSend}) {
    const auto qp = in(state);
    EXPECT_TRUE(move(*qp->qp, kReset, {})) << to_string(state);
    EXPECT_EQ(qp->state(), kReset);
    EXPECT_EQ(qp->qp->query().dest_qpn, 0u);
    EXPECT_EQ(qp->qp->path_name(), "-");
  }
}

TEST_F(QueuePairModifyTest, PathIsChosenAtRtr) {
  const auto qp = in(kInit);
  EXPECT_EQ(qp->qp->path_name(), "-");
  ASSERT_TRUE(move(*qp->qp, kReadyToReceive, connected()));
  EXPECT_EQ(qp->qp->path_name(), "scripted");
}

TEST_F(QueuePairModifyTest, PeerNeedNotBeThereAtRtr) {
  engine_.fabric().set_reachable(false);
  const auto qp = in(kReadyToReceive);
  EXPECT_EQ(qp->state(), kReadyToReceive);
  EXPECT_EQ(qp->qp->path_name(), "-");
}

TEST_F(QueuePairModifyTest, C71RingsRestartWhenResetIsLeftAndAreNotReadBefore) {
  const auto qp = in(kReadyToSend);
  EXPECT_EQ(qp->work.restarts(), 1u);
  ASSERT_TRUE(move(*qp->qp, kReset, {}));
  const unsigned looks = qp->work.send_looks();
  qp->work.post_send(send_request(1, {}));  // what the guest has not yet zeroed
  qp->qp->kick();
  engine_.run();
  EXPECT_EQ(qp->work.send_looks(), looks);
  EXPECT_EQ(qp->work.restarts(), 1u);

  ASSERT_TRUE(fake::bring_up(*qp->qp, kReadyToSend, connected()));
  engine_.run();
  EXPECT_EQ(qp->work.restarts(), 2u);
  EXPECT_EQ(qp->sends.size(), 0u);
}

TEST_F(QueuePairModifyTest, C71ResetForgetsWhatIsUnderWayWithoutACompletion) {
  for (const auto& answer :
       {std::optional<Outcome>(), std::optional(fake::not_ready(1)), std::optional(kNoAnswer)}) {
    const auto qp = in(kReadyToSend);
    engine_.transport().answer(answer);
    qp->post(send_request(1, {}));
    qp->post(send_request(2, {}));
    engine_.run();
    ASSERT_TRUE(move(*qp->qp, kReset, {}));
    engine_.advance(std::chrono::seconds(10));
    EXPECT_THAT(qp->sends.all(), IsEmpty());
    EXPECT_EQ(engine_.timers().size(), 0u);
  }
  EXPECT_EQ(engine_.transport().cancels(), 1u);
}

// A path may lead over one and then over the other.
TEST_F(QueuePairModifyTest, EachTransportHasItsStateUntilAReset) {
  struct Counted final : PathState {
    Counted(const Transport& transport, int& alive) : PathState(transport), alive_(alive) {
      ++alive_;
    }
    ~Counted() override { --alive_; }
    int& alive_;
  };
  int alive = 0;
  fake::ScriptedTransport first;
  fake::ScriptedTransport second;
  const auto qp = in(kReadyToSend);
  for (const fake::ScriptedTransport* transport : {&first, &second}) {
    EXPECT_EQ(qp->qp->path_state(*transport), nullptr);
    qp->qp->add_path_state(std::make_unique<Counted>(*transport, alive));
  }
  ASSERT_EQ(alive, 2);
  EXPECT_EQ(&qp->qp->path_state(first)->transport(), &first);
  EXPECT_EQ(&qp->qp->path_state(second)->transport(), &second);
  ASSERT_TRUE(move(*qp->qp, kReset, {}));
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(qp->qp->path_state(first), nullptr);
}

TEST_F(QueuePairModifyTest, BrokenRingsAreReadAgainAfterAReset) {
  const auto qp = in(kReadyToSend);
  qp->work.set_send_answer(WorkSource::Fetch::kBroken);
  qp->qp->kick();
  engine_.run();
  ASSERT_EQ(qp->state(), kError);
  qp->work.set_send_answer(std::nullopt);
  ASSERT_TRUE(move(*qp->qp, kReset, {}));
  ASSERT_TRUE(fake::bring_up(*qp->qp, kReadyToSend, connected()));
  qp->post(send_request(1, {}));
  engine_.run();
  EXPECT_THAT(qp->sends.statuses(), ElementsAre(WcStatus::kSuccess));
}

}  // namespace
}  // namespace paravane::verbs
