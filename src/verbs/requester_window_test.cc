// A transport that carries several requests of one queue pair at once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/solo_engine.h"
#include "verbs/requester.h"

namespace paravane::verbs {
namespace {

using fake::absent;
using fake::EngineQp;
using fake::not_ready;
using fake::read_request;
using fake::refused;
using fake::send_request;
using fake::SoloEngine;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

class RequesterWindow : public testing::Test {
 protected:
  RequesterWindow() {
    engine_.transport().set_depth(4);
    engine_.transport().answer_always(std::nullopt);  // carried
    attributes_.max_reads = 2;
    attributes_.retry_count = 1;
  }
  void connect() { qp_ = engine_.ready(QpType::kReliableConnected, attributes_); }
  void post(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t id = first; id <= last; ++id) qp_->post(send_request(id, {}));
    engine_.run();
  }
  void outcome(const Outcome& outcome) {
    qp_->qp->on_outcome(outcome, engine_.now());
    engine_.run();
  }
  const std::vector<std::uint64_t>& submitted() { return engine_.transport().submitted(); }

  SoloEngine engine_;
  QpAttributes attributes_ = fake::default_attributes();
  std::unique_ptr<EngineQp> qp_;
};

TEST_F(RequesterWindow, FillsAndGoesOnAsOutcomesCome) {
  connect();
  post(1, 6);
  EXPECT_THAT(submitted(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(qp_->sends.wr_ids(), IsEmpty());
  outcome({});
  EXPECT_THAT(submitted(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(qp_->sends.wr_ids(), ElementsAre(1));
  for (int i = 0; i < 5; ++i) outcome({});
  EXPECT_THAT(qp_->sends.wr_ids(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(qp_->sends.statuses(), Each(WcStatus::kSuccess));
}

// The guest's ring has given them up, and they are not done.
TEST_F(RequesterWindow, ACompletionSaysHowManyLaterRequestsAreUnderWay) {
  connect();
  post(1, 6);
  outcome({});
  ASSERT_EQ(qp_->sends.size(), 1u);
  EXPECT_EQ(qp_->sends.at(0).behind, 3u);
  for (int i = 0; i < 5; ++i) outcome({});
  ASSERT_EQ(qp_->sends.size(), 6u);
  EXPECT_EQ(qp_->sends.at(5).behind, 0u);
}

TEST_F(RequesterWindow, C65WhatFollowedARefusalIsSubmittedAnew) {
  connect();
  post(1, 3);
  outcome({});
  outcome(not_ready(1));  // of request 2
  EXPECT_THAT(submitted(), ElementsAre(1, 2, 3));
  EXPECT_THAT(qp_->sends.wr_ids(), ElementsAre(1));
  engine_.advance(milliseconds(1));
  EXPECT_THAT(submitted(), ElementsAre(1, 2, 3, 2, 3));
  outcome({});
  outcome({});
  EXPECT_THAT(qp_->sends.wr_ids(), ElementsAre(1, 2, 3));
}

TEST_F(RequesterWindow, AnErrorFlushesWhatFollows) {
  connect();
  post(1, 6);
  outcome({});
  outcome(refused(WcStatus::kRemoteAccessError));
  EXPECT_THAT(qp_->sends.wr_ids(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(qp_->sends.statuses(),
              ElementsAre(WcStatus::kSuccess, WcStatus::kRemoteAccessError, WcStatus::kFlushed,
                          WcStatus::kFlushed, WcStatus::kFlushed, WcStatus::kFlushed));
  EXPECT_EQ(qp_->state(), QpState::kError);
}

TEST_F(RequesterWindow, RetriesAreThoseOfTheOldestAndBeginAnewWithProgress) {
  connect();
  post(1, 2);
  outcome(kNoAnswer);
  engine_.advance(seconds(1));
  EXPECT_THAT(submitted(), ElementsAre(1, 2, 1, 2));
  outcome({});
  outcome(kNoAnswer);  // of request 2: its first
  engine_.advance(seconds(1));
  outcome(kNoAnswer);  // its last, and waited for as long again
  engine_.advance(seconds(1));
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kSuccess, WcStatus::kRetryExceeded));
}

TEST_F(RequesterWindow, AWayThatIsBackEndsTheWait) {
  attributes_.timeout = 20;  // 4.3 s
  connect();
  post(1, 1);
  outcome(kNoAnswer);
  qp_->qp->on_path_back();
  engine_.run();
  EXPECT_THAT(submitted(), ElementsAre(1, 1));
  EXPECT_EQ(qp_->qp->stats().retries, 0u);
}

TEST_F(RequesterWindow, AWayThatIsBackEndsNoOtherWait) {
  connect();
  post(1, 1);
  outcome(not_ready(31));  // 0.49 s
  qp_->qp->on_path_back();
  engine_.run();
  EXPECT_THAT(submitted(), ElementsAre(1));
  qp_->qp->on_peer_ready();
  engine_.run();
  EXPECT_THAT(submitted(), ElementsAre(1, 1));
}

TEST_F(RequesterWindow, AReceiveOfThePeersEndsNoOtherWait) {
  connect();
  post(1, 1);
  outcome(kNoAnswer);
  qp_->qp->on_peer_ready();
  engine_.run();
  EXPECT_THAT(submitted(), ElementsAre(1));
}

TEST_F(RequesterWindow, WithoutATimeoutThePeerIsLookedForAndNoRetryIsSpent) {
  attributes_.timeout = 0;
  connect();
  post(1, 1);
  outcome(kNoAnswer);
  engine_.advance(milliseconds(63));
  EXPECT_THAT(submitted(), ElementsAre(1));
  engine_.advance(milliseconds(1));
  EXPECT_THAT(submitted(), ElementsAre(1, 1));
  outcome(kNoAnswer);
  qp_->qp->on_path_back();
  engine_.run();
  EXPECT_THAT(submitted(), ElementsAre(1, 1, 1)) << "the peer's host says that it is there";
  EXPECT_EQ(qp_->qp->stats().retries, 0u);
}

TEST_F(RequesterWindow, AWayThatIsBackEndsTheLookForAPeer) {
  attributes_.timeout = 0;
  connect();
  post(1, 1);
  outcome(kNoAnswer);
  qp_->qp->on_path_back();
  engine_.run();
  EXPECT_THAT(submitted(), ElementsAre(1, 1));
}

TEST_F(RequesterWindow, TheRingIsWaitedForThroughWhatIsDoneAndNotThroughAFailure) {
  connect();
  qp_->post(send_request(1, {}));
  qp_->post(send_request(2, {}));
  engine_.run();
  qp_->work.set_send_answer(WorkSource::Fetch::kAbsent);
  qp_->qp->kick();
  engine_.run();
  const unsigned looks = qp_->work.send_looks();
  outcome({});
  EXPECT_EQ(qp_->work.send_looks(), looks);
  outcome(absent(WcStatus::kRemoteOperationError));
  engine_.advance(milliseconds(1));
  EXPECT_THAT(submitted(), ElementsAre(1, 2, 2));
}

TEST_F(RequesterWindow, NoMoreReadsThanAgreed) {
  connect();
  for (std::uint64_t id = 1; id <= 4; ++id) qp_->post(read_request(id, {}, 0, 0));
  engine_.run();
  EXPECT_THAT(submitted(), ElementsAre(1, 2));
  outcome({});
  EXPECT_THAT(submitted(), ElementsAre(1, 2, 3));
}

TEST_F(RequesterWindow, C58AFenceWaitsForReads) {
  connect();
  SendRequest fenced = send_request(3, {});
  fenced.fence = true;
  qp_->post(send_request(1, {}));
  qp_->post(read_request(2, {}, 0, 0));
  qp_->post(fenced);
  qp_->post(send_request(4, {}));
  engine_.run();
  EXPECT_THAT(submitted(), ElementsAre(1, 2));
  outcome({});
  EXPECT_THAT(submitted(), ElementsAre(1, 2));
  outcome({});
  EXPECT_THAT(submitted(), ElementsAre(1, 2, 3, 4));
}

TEST_F(RequesterWindow, OwnMistakesCompleteAfterWhatWasBefore) {
  connect();
  SendRequest malformed = send_request(2, {});
  malformed.fault = WcStatus::kLocalQpOperationError;
  qp_->post(send_request(1, {}));
  qp_->post(malformed);
  engine_.run();
  EXPECT_THAT(qp_->sends.wr_ids(), IsEmpty());
  outcome({});
  EXPECT_THAT(qp_->sends.statuses(),
              ElementsAre(WcStatus::kSuccess, WcStatus::kLocalQpOperationError));
}

TEST_F(RequesterWindow, MemoryThatIsMissingIsLookedForAgain) {
  connect();
  post(1, 2);
  outcome(absent(WcStatus::kRemoteOperationError));
  engine_.advance(milliseconds(2));
  EXPECT_THAT(submitted(), ElementsAre(1, 2, 1, 2));
}

TEST_F(RequesterWindow, AnErrorStateGivesUpWhatIsUnderWay) {
  connect();
  post(1, 3);
  ASSERT_TRUE(fake::move(*qp_->qp, QpState::kError, {}));
  engine_.run();
  EXPECT_EQ(engine_.transport().cancels(), 1u);
  EXPECT_THAT(qp_->sends.statuses(), Each(WcStatus::kFlushed));
  EXPECT_EQ(qp_->sends.size(), 3u);
  outcome({});  // too late
  EXPECT_EQ(qp_->sends.size(), 3u);
}

TEST_F(RequesterWindow, AnErrorStateFlushesARequestThatHadToLetOthersGoFirst) {
  connect();
  SendRequest fenced = send_request(2, {});
  fenced.fence = true;
  qp_->post(read_request(1, {}, 0, 0));
  qp_->post(fenced);
  engine_.run();
  EXPECT_THAT(submitted(), ElementsAre(1));
  ASSERT_TRUE(fake::move(*qp_->qp, QpState::kError, {}));
  engine_.run();
  EXPECT_THAT(qp_->sends.wr_ids(), ElementsAre(1, 2));
  EXPECT_THAT(qp_->sends.statuses(), Each(WcStatus::kFlushed));
}

TEST_F(RequesterWindow, AnotherPathWaitsUntilThisOneIsEmpty) {
  connect();
  post(1, 2);
  engine_.fabric().set_reachable(false);
  post(3, 3);
  EXPECT_THAT(submitted(), ElementsAre(1, 2));
  outcome({});
  outcome({});
  EXPECT_THAT(qp_->sends.wr_ids(), ElementsAre(1, 2));
  engine_.fabric().set_reachable(true);
  engine_.advance(seconds(1));
  EXPECT_THAT(submitted(), ElementsAre(1, 2, 3));
}

// A guest with thousands of queue pairs cannot make us keep thousands of windows.
TEST_F(RequesterWindow, AllWindowsOfAnAdapterAreBounded) {
  engine_.transport().set_depth(1'000'000);
  connect();
  post(1, 20'000);
  EXPECT_LT(submitted().size(), 8200u);
  EXPECT_GT(submitted().size(), 8000u);
  const auto second = engine_.ready(QpType::kReliableConnected, attributes_);
  second->post(send_request(50'000, {}));
  engine_.run();
  EXPECT_EQ(submitted().back(), 50'000u) << "everyone has one";
  second->post(send_request(50'001, {}));
  engine_.run();
  EXPECT_EQ(submitted().back(), 50'000u);
  ASSERT_TRUE(fake::move(*qp_->qp, QpState::kReset, {}));
  second->qp->on_outcome({}, engine_.now());
  second->post(send_request(50'002, {}));
  engine_.run();
  second->qp->on_outcome({}, engine_.now());
  EXPECT_EQ(submitted().back(), 50'002u) << "and they are given back";
}

}  // namespace
}  // namespace paravane::verbs
