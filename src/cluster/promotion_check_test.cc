#include "cluster/promotion_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace paravane::cluster {
namespace {

using authority::DoorAnswer;
using authority::Seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

constexpr Seconds kPromotionTime = std::chrono::sys_days(std::chrono::year(2026) / 11 / 25) + 12h;
constexpr authority::Validity kInForce{.from = kPromotionTime - 24h,
                                       .until = kPromotionTime + 24h * 89};

DoorAnswer promotion_answer(std::string sees, std::optional<std::chrono::seconds> ahead) {
  DoorAnswer answer;
  answer.sees = std::move(sees);
  if (ahead)
    answer.clock_s =
        static_cast<std::uint64_t>((kPromotionTime + *ahead).time_since_epoch().count());
  return answer;
}

// Hosts from h1 on.
model::ApiResult<void> judge_answers(const std::vector<Result<DoorAnswer>>& answers) {
  std::vector<HostDoor> doors;
  for (std::size_t i = 1; i <= answers.size(); ++i) {
    doors.push_back({.host = "h" + std::to_string(i), .door = "192.0.2.1:28249"});
  }
  return check_answers("h1", doors, answers, kPromotionTime);
}

const auto kNoAnswer = fail(Errc::kIo, "it does not answer");

TEST(PromotionCheck, AHostWhoseCertificateIsNotInForceByItsClockIsNotPromoted) {
  EXPECT_TRUE(check_own_clock(kInForce, kPromotionTime - 1h, kPromotionTime));
  for (const Seconds wrong : {kPromotionTime + 24h * 200, kPromotionTime - 24h * 200}) {
    const auto refused = check_own_clock(kInForce, kPromotionTime - 24h * 300, wrong);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, model::ApiErrorCode::kDenied);
    EXPECT_THAT(refused.error().message, HasSubstr("valid from 2026-11-24 12:00:00 UTC until "
                                                   "2027-02-22 12:00:00 UTC"));
    EXPECT_THAT(refused.error().remedy, HasSubstr("timedatectl"));
  }
  EXPECT_THAT(check_own_clock(kInForce, kPromotionTime, kPromotionTime + 24h * 200).error().message,
              HasSubstr("clock shows 2027-06-13 12:00:00 UTC"));
}

TEST(PromotionCheck, AHostWhoseClockIsBeforeTheBackupIsNotPromoted) {
  EXPECT_TRUE(check_own_clock(kInForce, kPromotionTime + 1h, kPromotionTime));
  const auto refused = check_own_clock(kInForce, kPromotionTime + 1h + 1s, kPromotionTime);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("clock shows 2026-11-25 12:00:00 UTC"),
                                             HasSubstr("made later, at 2026-11-25 13:00:01 UTC")));
  EXPECT_THAT(refused.error().remedy, HasSubstr("timedatectl"));
}

TEST(PromotionCheck, AMemberThatSeesTheAuthorityIsNamed) {
  const auto refused =
      judge_answers({kNoAnswer, kNoAnswer, promotion_answer("h1", 0s), promotion_answer("", 0s)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, model::ApiErrorCode::kDenied);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("host h1 is the authority and still runs"),
                                             HasSubstr("h3"), Not(HasSubstr("h4"))));
  EXPECT_THAT(refused.error().remedy, AllOf(HasSubstr("Stop the daemon of host h1"),
                                            HasSubstr("repair this host's connection")));
}

TEST(PromotionCheck, OthersThatSeeAnotherOrSayNothingHoldNothingUp) {
  EXPECT_TRUE(judge_answers({}));
  EXPECT_TRUE(judge_answers({kNoAnswer, kNoAnswer}));
  EXPECT_TRUE(judge_answers({kNoAnswer, promotion_answer("", {}), promotion_answer("h9", 0s)}));
}

TEST(PromotionCheck, MostOfTheClocksThatAnswerCount) {
  EXPECT_TRUE(judge_answers({kNoAnswer, promotion_answer("", 5min), promotion_answer("", -5min)}));
  // One of two may be the one that is wrong.
  EXPECT_TRUE(judge_answers({kNoAnswer, promotion_answer("", 1h), promotion_answer("", 0s)}));
  for (const auto ahead : {std::chrono::seconds(5min + 1s), std::chrono::seconds(-24h * 30)}) {
    const auto refused =
        judge_answers({kNoAnswer, promotion_answer("", 0s), promotion_answer("", ahead),
                       promotion_answer("", ahead), promotion_answer("", {})});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, AllOf(HasSubstr("clock shows 2026-11-25 12:00:00 UTC"),
                                               HasSubstr("2 of the 3 hosts"), HasSubstr("(h3, h4)"),
                                               HasSubstr(ahead > 0s ? "2026-11-25 12:05:01 UTC"
                                                                    : "2026-10-26 12:00:00 UTC")));
    EXPECT_THAT(refused.error().remedy, HasSubstr("timedatectl"));
  }
  // The oddest that an answer may have.
  EXPECT_FALSE(judge_answers({promotion_answer(
      "", Seconds(std::chrono::seconds(authority::kMaxDoorClock)) - kPromotionTime)}));
}

TEST(PromotionCheck, NamesAreFew) {
  std::vector<Result<DoorAnswer>> answers;
  for (int i = 0; i < 20; ++i) answers.emplace_back(promotion_answer("h1", 0s));
  EXPECT_THAT(judge_answers(answers).error().message, HasSubstr(" and 12 more"));
}

}  // namespace
}  // namespace paravane::cluster
