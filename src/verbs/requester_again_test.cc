// A request that the peer has carried out, and that we have not heard of.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/solo_engine.h"
#include "verbs/requester.h"

namespace paravane::verbs {
namespace {

using fake::EngineQp;
using fake::send_request;
using fake::SoloEngine;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Outcome kAnswerLost{.kind = Outcome::Kind::kAnswerLost};

class RequesterAgain : public testing::Test {
 protected:
  RequesterAgain() {
    attributes_.timeout = 10;  // 4 ms
    attributes_.retry_count = 3;
  }
  void post(std::uint64_t first, std::uint64_t last) {
    qp_ = engine_.ready(QpType::kReliableConnected, attributes_);
    for (std::uint64_t id = first; id <= last; ++id) qp_->post(send_request(id, {}));
    engine_.run();
  }
  void outcome(const Outcome& outcome) {
    qp_->qp->on_outcome(outcome, engine_.now());
    engine_.run();
  }
  const std::vector<std::uint64_t>& submitted() { return engine_.transport().submitted(); }
  const std::vector<std::uint64_t>& again() { return engine_.transport().submitted_again(); }

  SoloEngine engine_;
  QpAttributes attributes_ = fake::default_attributes();
  std::unique_ptr<EngineQp> qp_;
};

TEST_F(RequesterAgain, ComesAgainAsRepeatedAfterTheTimeoutAndTheNextDoesNot) {
  engine_.transport().answer(kAnswerLost);
  post(1, 2);
  EXPECT_THAT(submitted(), ElementsAre(1));
  engine_.advance(milliseconds(100));
  EXPECT_THAT(submitted(), ElementsAre(1, 1, 2));
  EXPECT_THAT(again(), ElementsAre(1));
  EXPECT_THAT(qp_->sends.wr_ids(), ElementsAre(1, 2));
  EXPECT_EQ(qp_->qp->stats().retries, 1u);
}

TEST_F(RequesterAgain, StaysRepeatedWhateverBecomesOfTheNextTries) {
  engine_.transport().answer(kAnswerLost);
  engine_.transport().answer(kNoAnswer);
  engine_.transport().answer(kAnswerLost);
  post(1, 1);
  engine_.advance(seconds(1));
  EXPECT_THAT(again(), ElementsAre(1, 1, 1));
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kSuccess));
}

TEST_F(RequesterAgain, CountsAsARetryAndEndsWithThem) {
  engine_.transport().answer_always(kAnswerLost);
  post(1, 1);
  engine_.advance(seconds(1));
  EXPECT_THAT(submitted(), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kRetryExceeded));
}

TEST_F(RequesterAgain, OfManyUnderWayOnlyTheOldestIsRepeated) {
  engine_.transport().set_depth(4);
  engine_.transport().answer_always(std::nullopt);  // carried
  post(1, 3);
  outcome(kAnswerLost);
  engine_.advance(milliseconds(100));
  EXPECT_THAT(submitted(), ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_THAT(again(), ElementsAre(1));
  outcome(kNoAnswer);  // and once more
  engine_.advance(milliseconds(100));
  EXPECT_THAT(again(), ElementsAre(1, 1));
  outcome({});
  outcome(kNoAnswer);  // of request 2
  engine_.advance(milliseconds(100));
  EXPECT_THAT(again(), ElementsAre(1, 1));
}

TEST_F(RequesterAgain, IsForgottenWithItsQueuePairsLife) {
  engine_.transport().answer(kAnswerLost);
  post(1, 1);
  ASSERT_TRUE(fake::move(*qp_->qp, QpState::kReset, {}));
  EXPECT_THAT(qp_->sends.wr_ids(), IsEmpty());
  engine_.advance(seconds(1));
  EXPECT_THAT(again(), IsEmpty());
}

struct LosingFilter final : OutcomeFilter {
  Outcome filter(QueuePair& qp, const Outcome& /*outcome*/) override {
    qp.set_outcome_filter(nullptr);
    return kAnswerLost;
  }
};

TEST_F(RequesterAgain, WhoStandsBetweenMayChangeWhatIsHeard) {
  LosingFilter filter;
  engine_.transport().answer(std::nullopt);
  post(1, 1);
  qp_->qp->set_outcome_filter(&filter);
  outcome({});
  EXPECT_THAT(qp_->sends.wr_ids(), IsEmpty());
  engine_.advance(milliseconds(100));
  EXPECT_THAT(again(), ElementsAre(1));
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kSuccess));
}

}  // namespace
}  // namespace paravane::verbs
