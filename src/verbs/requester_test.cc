#include "verbs/requester.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/solo_engine.h"
#include "verbs/ack_timing.h"
#include "verbs/connection.h"

namespace paravane::verbs {
namespace {

using fake::absent;
using fake::EngineQp;
using fake::not_ready;
using fake::refused;
using fake::register_request;
using fake::send_request;
using fake::SoloEngine;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

SendRequest unsignaled(std::uint64_t wr_id) {
  SendRequest request = send_request(wr_id, {});
  request.signaled = false;
  return request;
}

class RequesterTest : public testing::Test {
 protected:
  // A connected queue pair with these retry attributes.
  std::unique_ptr<EngineQp> ready(std::uint8_t timeout, std::uint8_t retries,
                                  std::uint8_t rnr_retries) {
    QpAttributes attributes = fake::default_attributes();
    attributes.timeout = timeout;
    attributes.retry_count = retries;
    attributes.rnr_retry = rnr_retries;
    return engine_.ready(QpType::kReliableConnected, attributes);
  }

  SoloEngine engine_;
};

TEST_F(RequesterTest, C60UnsignaledSuccessIsSilent) {
  const auto qp = engine_.ready();
  qp->post(unsignaled(1));
  qp->post(send_request(2, {}));
  qp->post(unsignaled(3));
  engine_.run();

  EXPECT_THAT(engine_.transport().submitted(), ElementsAre(1, 2, 3));
  EXPECT_THAT(qp->sends.wr_ids(), ElementsAre(2));
  EXPECT_EQ(qp->work.sends_left(), 0u);
}

TEST_F(RequesterTest, C60SignalAllMakesEverySendVisible) {
  const auto qp = engine_.ready(QpType::kReliableConnected, fake::default_attributes(), true);
  qp->post(unsignaled(1));
  qp->post(unsignaled(2));
  engine_.run();
  EXPECT_THAT(qp->sends.wr_ids(), ElementsAre(1, 2));
}

TEST_F(RequesterTest, UnsignaledErrorsAreVisible) {
  const auto qp = engine_.ready();
  engine_.transport().answer(refused(WcStatus::kRemoteAccessError));
  qp->post(unsignaled(1));
  qp->post(unsignaled(2));
  engine_.run();
  EXPECT_THAT(qp->sends.statuses(), ElementsAre(WcStatus::kRemoteAccessError, WcStatus::kFlushed));
}

TEST_F(RequesterTest, OneRequestIsUnderWayAtATime) {
  const auto qp = engine_.ready();
  engine_.transport().answer(std::nullopt);
  qp->post(send_request(1, {}));
  qp->post(send_request(2, {}));
  engine_.run();
  EXPECT_THAT(engine_.transport().submitted(), ElementsAre(1));

  qp->qp->on_outcome({}, engine_.now());
  engine_.run();
  EXPECT_THAT(engine_.transport().submitted(), ElementsAre(1, 2));
  EXPECT_THAT(qp->sends.wr_ids(), ElementsAre(1, 2));
}

TEST_F(RequesterTest, OutcomeThatNobodyWaitsForIsIgnored) {
  const auto qp = engine_.ready();
  qp->qp->on_outcome(refused(WcStatus::kRemoteAccessError), engine_.now());
  engine_.run();
  EXPECT_EQ(qp->state(), QpState::kReadyToSend);
  EXPECT_EQ(qp->sends.size(), 0u);
}

TEST_F(RequesterTest, C65RnrWaitsAsLongAsTheReceiverAsked) {
  const auto qp = engine_.ready();
  engine_.transport().answer(not_ready(14));  // 1.28 ms
  qp->post(send_request(1, {}));
  engine_.advance(microseconds(1279));
  EXPECT_THAT(engine_.transport().submitted(), ElementsAre(1));
  engine_.advance(microseconds(1));
  EXPECT_THAT(engine_.transport().submitted(), ElementsAre(1, 1));
  EXPECT_THAT(qp->sends.statuses(), ElementsAre(WcStatus::kSuccess));
  EXPECT_EQ(qp->qp->stats().rnr_waits, 1u);
}

TEST_F(RequesterTest, C65RnrRetriesAreCounted) {
  for (std::uint8_t retries = 0; retries < 7; ++retries) {
    const auto qp = ready(14, 7, retries);
    engine_.transport().answer_always(not_ready(1));
    const std::size_t before = engine_.transport().submitted().size();
    qp->post(send_request(1, {}));
    engine_.advance(seconds(1));
    EXPECT_EQ(engine_.transport().submitted().size() - before, 1u + retries);
    EXPECT_THAT(qp->sends.statuses(), ElementsAre(WcStatus::kRnrRetryExceeded));
    EXPECT_EQ(qp->state(), QpState::kError);
  }
}

TEST_F(RequesterTest, C65RnrRetrySevenIsForEver) {
  const auto qp = ready(14, 7, 7);
  engine_.transport().answer_always(not_ready(0));  // 655.36 ms
  qp->post(send_request(1, {}));
  engine_.advance(std::chrono::hours(1));
  EXPECT_EQ(qp->sends.size(), 0u);
  EXPECT_EQ(qp->state(), QpState::kReadyToSend);
  EXPECT_EQ(engine_.transport().submitted().size(), 1u + 3'600'000'000ull / 655'360);
}

TEST_F(RequesterTest, RnrCountStartsAnewWithEachRequest) {
  const auto qp = ready(14, 7, 1);
  for (std::uint64_t wr_id = 1; wr_id <= 3; ++wr_id) {
    engine_.transport().answer(not_ready(1));
    engine_.transport().answer(Outcome{});
    qp->post(send_request(wr_id, {}));
  }
  engine_.advance(seconds(1));
  EXPECT_THAT(qp->sends.statuses(), Each(WcStatus::kSuccess));
  EXPECT_EQ(qp->sends.size(), 3u);
}

TEST_F(RequesterTest, PeerThatIsReadyEndsTheRnrWait) {
  const auto qp = engine_.ready();
  engine_.transport().answer(not_ready(0));
  qp->post(send_request(1, {}));
  engine_.run();
  qp->qp->on_peer_ready();
  engine_.run();
  EXPECT_THAT(qp->sends.statuses(), ElementsAre(WcStatus::kSuccess));
  EXPECT_EQ(engine_.timers().size(), 0u);
}

TEST_F(RequesterTest, PeerThatIsReadyEndsNoOtherWait) {
  const auto unanswered = engine_.ready();
  const auto carried = engine_.ready();
  engine_.transport().answer(kNoAnswer);
  engine_.transport().answer(std::nullopt);
  unanswered->post(send_request(1, {}));
  carried->post(send_request(2, {}));
  engine_.run();
  unanswered->qp->on_peer_ready();
  carried->qp->on_peer_ready();
  engine_.run();
  EXPECT_EQ(engine_.transport().submitted().size(), 2u);
}

TEST_F(RequesterTest, NoAnswerIsRetriedAfterTheAckTimeout) {
  const auto qp = ready(10, 3, 7);  // 4.194304 ms
  engine_.transport().answer_always(kNoAnswer);
  qp->post(send_request(1, {}));
  const Duration timeout = ack_timeout(10);

  engine_.advance(timeout - nanoseconds(1));
  EXPECT_EQ(engine_.transport().submitted().size(), 1u);
  engine_.advance(3 * timeout);
  EXPECT_EQ(engine_.transport().submitted().size(), 4u);
  EXPECT_EQ(qp->sends.size(), 0u);  // the last retry is waited for as well
  engine_.advance(nanoseconds(1));
  EXPECT_THAT(qp->sends.statuses(), ElementsAre(WcStatus::kRetryExceeded));
  EXPECT_EQ(engine_.transport().submitted().size(), 4u);
  EXPECT_EQ(qp->state(), QpState::kError);
  EXPECT_EQ(qp->qp->stats().retries, 3u);
}

// A transport that has timers of its own has waited before it says so.
TEST_F(RequesterTest, AnOutcomeThatHasWaitedIsRetriedAtOnce) {
  constexpr Outcome kWaited{.kind = Outcome::Kind::kNoAnswer, .wait = Outcome::Wait::kWaited};
  const auto at_once = ready(10, 3, 7);
  engine_.transport().answer_always(kWaited);
  at_once->post(send_request(1, {}));
  engine_.run();
  EXPECT_EQ(engine_.transport().submitted().size(), 4u);
  EXPECT_THAT(at_once->sends.statuses(), ElementsAre(WcStatus::kRetryExceeded));
  EXPECT_EQ(at_once->qp->stats().retries, 3u);

  const auto later = ready(10, 1, 7);
  engine_.transport().answer_always(std::nullopt);
  later->post(send_request(2, {}));
  engine_.run();
  EXPECT_EQ(engine_.transport().submitted().size(), 5u);
  later->qp->on_outcome(kWaited, engine_.now());
  engine_.run();
  EXPECT_EQ(engine_.transport().submitted().size(), 6u);
  later->qp->on_outcome(kWaited, engine_.now());
  engine_.run();
  EXPECT_THAT(later->sends.statuses(), ElementsAre(WcStatus::kRetryExceeded));
  EXPECT_EQ(engine_.transport().submitted().size(), 6u);
}

// The peer's host has asked to be waited for: a try costs nothing, and afterwards the queue pair
// has all of its own time.
TEST_F(RequesterTest, AHeldPeerIsWaitedForWithoutARetry) {
  const auto qp = ready(10, 3, 7);
  const Duration timeout = ack_timeout(10);
  engine_.transport().answer_always(kHeld);
  qp->post(send_request(1, {}));
  engine_.advance(std::chrono::seconds(20));
  EXPECT_EQ(qp->sends.size(), 0u);
  EXPECT_EQ(qp->qp->stats().retries, 0u);
  EXPECT_LT(engine_.transport().submitted().size(), 2000u) << "in looks, and not in a circle";
  const std::size_t looks = engine_.transport().submitted().size();

  engine_.transport().answer_always(kNoAnswer);
  engine_.advance(4 * timeout);
  EXPECT_EQ(qp->sends.size(), 0u);
  EXPECT_LE(engine_.transport().submitted().size(), looks + 4);
  engine_.advance(std::chrono::milliseconds(17));
  EXPECT_THAT(qp->sends.statuses(), ElementsAre(WcStatus::kRetryExceeded));
  EXPECT_EQ(qp->qp->stats().retries, 3u);
}

TEST_F(RequesterTest, AHeldPeerThatIsBackIsTriedAtOnce) {
  const auto qp = ready(10, 3, 7);
  engine_.transport().answer_always(kHeld);
  qp->post(send_request(1, {}));
  engine_.run();
  EXPECT_EQ(qp->sends.size(), 0u);
  engine_.transport().answer_always(Outcome{});
  qp->qp->on_path_back();
  engine_.run();
  EXPECT_THAT(qp->sends.statuses(), ElementsAre(WcStatus::kSuccess));
  EXPECT_EQ(qp->qp->stats().retries, 0u);
}

TEST_F(RequesterTest, NoRetriesMeansOneTry) {
  const auto qp = ready(1, 0, 7);
  engine_.transport().answer_always(kNoAnswer);
  qp->post(send_request(1, {}));
  engine_.advance(milliseconds(1));
  EXPECT_EQ(engine_.transport().submitted().size(), 1u);
  EXPECT_THAT(qp->sends.statuses(), ElementsAre(WcStatus::kRetryExceeded));
}

TEST_F(RequesterTest, TimeoutZeroIsForEver) {
  const auto qp = ready(0, 0, 7);
  engine_.transport().answer_always(kNoAnswer);
  qp->post(send_request(1, {}));
  engine_.advance(std::chrono::minutes(10));
  EXPECT_EQ(qp->sends.size(), 0u);

  engine_.transport().answer_always(Outcome{});
  engine_.advance(seconds(1));
  EXPECT_THAT(qp->sends.statuses(), ElementsAre(WcStatus::kSuccess));
}

TEST_F(RequesterTest, RnrIsAnAnswerAndResetsTheRetries) {
  const auto qp = ready(1, 1, 7);
  for (int i = 0; i < 5; ++i) {
    engine_.transport().answer(kNoAnswer);
    engine_.transport().answer(not_ready(1));
  }
  qp->post(send_request(1, {}));
  engine_.advance(seconds(1));
  EXPECT_THAT(qp->sends.statuses(), ElementsAre(WcStatus::kSuccess));
}

TEST_F(RequesterTest, WithoutAPathThereIsNoAnswer) {
  const auto qp = ready(1, 2, 7);
  engine_.fabric().set_reachable(false);
  qp->post(send_request(1, {}));
  engine_.advance(seconds(1));
  EXPECT_THAT(engine_.transport().submitted(), IsEmpty());
  EXPECT_THAT(qp->sends.statuses(), ElementsAre(WcStatus::kRetryExceeded));
}

TEST_F(RequesterTest, APathThatIsLostIsRememberedWithItsConnectionButNotOneThatIsGivenUp) {
  const auto qp = ready(1, 2, 7);
  const PathUse& use = engine_.adapter().path_use();
  ASSERT_EQ(use.counts().size(), 1u);
  engine_.fabric().set_reachable(false);
  qp->post(send_request(1, {}));
  engine_.run();
  ASSERT_EQ(use.losses().size(), 1u);
  EXPECT_EQ(use.losses().begin()->second.peer, qp->qp->connection().dgid());
  EXPECT_EQ(use.losses().begin()->second.source, qp->qp->connection().sgid());

  engine_.fabric().set_reachable(true);
  const auto other = engine_.ready();
  EXPECT_TRUE(use.losses().empty()) << "the path is taken again";
  QpAttributes reset;
  reset.state = QpState::kReset;
  ASSERT_TRUE(other->qp->modify(reset, kAttrState, engine_.now()));
  EXPECT_TRUE(use.losses().empty());
}

TEST_F(RequesterTest, PathIsFoundAgainWhenTheFabricChanges) {
  const auto qp = ready(14, 7, 7);
  engine_.fabric().set_reachable(false);
  qp->post(send_request(1, {}));
  engine_.advance(milliseconds(100));
  engine_.fabric().set_reachable(true);
  engine_.advance(milliseconds(100));
  EXPECT_THAT(qp->sends.statuses(), ElementsAre(WcStatus::kSuccess));
  EXPECT_EQ(qp->qp->path_name(), "scripted");
}

TEST_F(RequesterTest, PathIsNotLookedUpForEachMessage) {
  const auto qp = engine_.ready();
  const unsigned before = engine_.fabric().finds();
  for (std::uint64_t i = 0; i < 100; ++i) qp->post(send_request(i, {}));
  engine_.run();
  EXPECT_EQ(qp->sends.size(), 100u);
  EXPECT_EQ(engine_.fabric().finds(), before);
}

TEST_F(RequesterTest, LosingOurOwnGidMeansNoPath) {
  const auto qp = ready(1, 0, 7);
  ASSERT_TRUE(engine_.adapter().unbind_gid(0));
  qp->post(send_request(1, {}));
  engine_.advance(seconds(1));
  EXPECT_THAT(engine_.transport().submitted(), IsEmpty());
  EXPECT_THAT(qp->sends.statuses(), ElementsAre(WcStatus::kRetryExceeded));
}

TEST_F(RequesterTest, AbsentMemoryIsWaitedForASecond) {
  const auto qp = engine_.ready();
  engine_.transport().answer_always(absent(WcStatus::kRemoteOperationError));
  qp->post(send_request(1, {}));
  engine_.advance(milliseconds(999));
  EXPECT_EQ(qp->sends.size(), 0u);
  engine_.advance(milliseconds(1));
  EXPECT_THAT(qp->sends.statuses(), ElementsAre(WcStatus::kRemoteOperationError));
}

TEST_F(RequesterTest, AbsentMemoryThatReturnsIsUsed) {
  const auto qp = engine_.ready();
  engine_.transport().answer(absent(WcStatus::kRemoteOperationError));
  engine_.transport().answer(absent(WcStatus::kRemoteOperationError));
  qp->post(send_request(1, {}));
  engine_.advance(milliseconds(3));
  EXPECT_THAT(qp->sends.statuses(), ElementsAre(WcStatus::kSuccess));
}

TEST_F(RequesterTest, AbsentRingIsWaitedForThenFatal) {
  const auto qp = engine_.ready();
  qp->work.set_send_answer(WorkSource::Fetch::kAbsent);
  qp->post(send_request(1, {}));
  engine_.advance(milliseconds(500));
  EXPECT_EQ(qp->state(), QpState::kReadyToSend);
  engine_.advance(milliseconds(600));
  EXPECT_EQ(qp->state(), QpState::kError);
  EXPECT_THAT(engine_.vm().events().all(),
              ElementsAre(testing::Pair(qp->qp->spec().tag, QpEvent::kFatal)));
  EXPECT_LT(qp->work.send_looks(), 40u);
}

TEST_F(RequesterTest, AbsentRingThatReturnsIsRead) {
  const auto qp = engine_.ready();
  qp->work.set_send_answer(WorkSource::Fetch::kAbsent);
  qp->post(send_request(1, {}));
  engine_.advance(milliseconds(10));
  qp->work.set_send_answer(std::nullopt);
  engine_.advance(milliseconds(64));
  EXPECT_THAT(qp->sends.statuses(), ElementsAre(WcStatus::kSuccess));
}

TEST_F(RequesterTest, ARingThatWasAbsentAndIsEmptyNowIsPresent) {
  engine_.transport().set_depth(2);
  for (const bool carries : {false, true}) {
    const auto qp = engine_.ready();
    if (carries) {
      engine_.transport().answer(std::nullopt);
      qp->post(send_request(1, {}));
      engine_.run();
    }
    for (int i = 0; i < 3; ++i) {
      qp->work.set_send_answer(WorkSource::Fetch::kAbsent);
      qp->qp->kick();
      engine_.run();
      qp->work.set_send_answer(std::nullopt);
      qp->qp->kick();
      engine_.advance(milliseconds(1'100));
    }
    EXPECT_EQ(qp->state(), QpState::kReadyToSend);
  }
}

TEST_F(RequesterTest, BrokenRingIsFatal) {
  const auto qp = engine_.ready();
  qp->work.set_send_answer(WorkSource::Fetch::kBroken);
  qp->post(send_request(1, {}));
  engine_.run();
  EXPECT_EQ(qp->state(), QpState::kError);
  EXPECT_THAT(engine_.vm().events().all(),
              ElementsAre(testing::Pair(qp->qp->spec().tag, QpEvent::kFatal)));
  EXPECT_EQ(qp->work.send_looks(), 1u);  // never read again
}

TEST_F(RequesterTest, FullCompletionQueueIsFatal) {
  const auto qp = engine_.ready();
  qp->sends.set_capacity(1);
  for (std::uint64_t i = 0; i < 4; ++i) qp->post(send_request(i, {}));
  engine_.run();
  EXPECT_EQ(qp->state(), QpState::kError);
  EXPECT_THAT(engine_.transport().submitted(), ElementsAre(0, 1));
  EXPECT_THAT(engine_.vm().events().all(),
              ElementsAre(testing::Pair(qp->qp->spec().tag, QpEvent::kFatal)));
  EXPECT_EQ(qp->work.sends_left(), 0u);
}

TEST_F(RequesterTest, ManyWaitersDoNotWakeUpMoreThanTheirShare) {
  std::vector<std::unique_ptr<EngineQp>> qps;
  engine_.transport().answer_always(not_ready(1));  // 10 us each
  for (int i = 0; i < 500; ++i) {
    qps.push_back(engine_.ready());
    qps.back()->post(send_request(1, {}));
  }
  engine_.advance(milliseconds(20));
  // 500 queue pairs every 10 us would be a million tries.
  EXPECT_LT(engine_.transport().submitted().size(), 6'000u);
  EXPECT_GT(engine_.transport().submitted().size(), 4'000u);
}

TEST_F(RequesterTest, WaitingBlocksNobodyElse) {
  const auto waiting = engine_.ready();
  const auto working = engine_.ready();
  engine_.transport().answer(not_ready(0));
  waiting->post(send_request(1, {}));
  engine_.run();
  working->post(send_request(2, {}));
  engine_.run();
  EXPECT_THAT(working->sends.wr_ids(), ElementsAre(2));
  EXPECT_EQ(waiting->sends.size(), 0u);
}

// Copying and checking 512 addresses is the work of 32 requests more.
TEST_F(RequesterTest, ARegistrationCostsWhatItsPagesDo) {
  constexpr std::uint32_t kPages = 512;
  const TestPages pages = engine_.vm().ram().scattered_pages(kPages);
  const std::uint32_t key = *engine_.adapter().regions().add_fast(engine_.vm().pd(), kPages);
  const FastRegistration registration{.key = key,
                                      .access = kAccessKnown,
                                      .start = 0x1000,
                                      .length = kPages * kPageBytes,
                                      .pages = kPages,
                                      .directory = pages.directory.value};
  const auto qp = engine_.ready();
  qp->post(register_request(1, registration));
  Budget budget{.bytes = 1 << 20, .operations = 64};
  engine_.adapter().run(engine_.now(), budget);
  EXPECT_THAT(qp->sends.statuses(), ElementsAre(WcStatus::kSuccess));
  EXPECT_LE(budget.operations, 64 - 1 - 32);
}

TEST_F(RequesterTest, NothingRunsAfterDestruction) {
  auto waiting = engine_.ready();
  auto carried = engine_.ready();
  auto kicked = engine_.ready();
  engine_.transport().answer(not_ready(1));
  engine_.transport().answer(std::nullopt);
  waiting->post(send_request(1, {}));
  carried->post(send_request(2, {}));
  engine_.run();
  kicked->post(send_request(3, {}));

  waiting.reset();
  carried.reset();
  kicked.reset();
  EXPECT_EQ(engine_.transport().cancels(), 1u);
  EXPECT_EQ(engine_.timers().size(), 0u);
  EXPECT_FALSE(engine_.adapter().has_work());
  EXPECT_EQ(engine_.adapter().qp_count(), 0u);
}

}  // namespace
}  // namespace paravane::verbs
