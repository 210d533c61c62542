#include "subnet_host/lost_uplinks.h"

#include <gtest/gtest.h>

namespace paravane::subnet_host {
namespace {

using std::chrono::seconds;

class LostUplinksTest : public testing::Test {
 protected:
  // When it is told, after the loss; -1: not at all.
  long told_after(const std::string& uplink = "vmnic32") {
    const Instant lost_at = now_;
    lost_.lost(uplink, now_);
    const Instant due = lost_.next_deadline();
    if (due == kNever) return -1;
    if (due > now_) {
      now_ = due - Duration(1);
      EXPECT_EQ(lost_.take_due(now_), nullptr);
    }
    now_ = due;
    const std::string* told = lost_.take_due(now_);
    EXPECT_TRUE(told != nullptr && *told == uplink);
    EXPECT_EQ(lost_.take_due(now_), nullptr) << "once";
    return std::chrono::duration_cast<seconds>(due - lost_at).count();
  }

  LostUplinks lost_;
  Instant now_{std::chrono::hours(1)};
};

TEST_F(LostUplinksTest, TheFirstIsToldAtOnceAndMoreLaterAndLater) {
  EXPECT_EQ(lost_.next_deadline(), kNever);
  EXPECT_EQ(lost_.take_due(now_), nullptr);
  for (const long after : {0, 1, 2, 4, 8, 16, 32, 64, 64}) EXPECT_EQ(told_after(), after);
  EXPECT_EQ(told_after("vmnic33"), 0) << "another";
}

TEST_F(LostUplinksTest, AfterACalmTimeTheFirstIsToldAtOnceAgain) {
  for (int i = 0; i < 4; ++i) told_after();
  now_ += LostUplinks::kCalm - Duration(1);
  EXPECT_EQ(told_after(), 0) << "its pause is over";
  EXPECT_EQ(told_after(), 16);
  now_ += LostUplinks::kCalm;
  EXPECT_EQ(told_after(), 0);
  EXPECT_EQ(told_after(), 1);
}

TEST_F(LostUplinksTest, SeveralLossesAreToldOnce) {
  lost_.expect("vmnic32");
  lost_.lost("vmnic32", now_);
  lost_.lost("vmnic32", now_);
  EXPECT_NE(lost_.take_due(now_), nullptr);
  EXPECT_EQ(lost_.next_deadline(), kNever);
}

TEST_F(LostUplinksTest, WhatIsNotWantedIsNotTold) {
  told_after();
  lost_.lost("vmnic32", now_);
  EXPECT_NE(lost_.next_deadline(), kNever);
  lost_.cancel("vmnic32");
  lost_.cancel("vmnic33");
  EXPECT_EQ(lost_.next_deadline(), kNever);
  EXPECT_EQ(told_after(), 2) << "its losses are remembered";
}

}  // namespace
}  // namespace paravane::subnet_host
