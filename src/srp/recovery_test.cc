#include "srp/recovery.h"

#include <gtest/gtest.h>

namespace paravane::srp {
namespace {

using std::chrono::seconds;
using Step = Recovery::Step;

constexpr Instant kStart{seconds(1000)};
constexpr Patience kPatience{.command = seconds(30), .abort = seconds(5), .reset = seconds(10)};

TEST(SrpRecovery, GoesOnWhereNoAnswerComes) {
  Recovery recovery(kStart, kPatience);
  EXPECT_EQ(recovery.deadline(), kStart + seconds(30));
  EXPECT_EQ(recovery.due(kStart + seconds(30) - Duration(1)), Step::kNone);
  EXPECT_EQ(recovery.due(kStart + seconds(30)), Step::kAbort);
  EXPECT_EQ(recovery.deadline(), kStart + seconds(35));
  EXPECT_EQ(recovery.due(kStart + seconds(34)), Step::kNone) << "each step once";
  EXPECT_EQ(recovery.due(kStart + seconds(36)), Step::kResetLun);
  EXPECT_EQ(recovery.deadline(), kStart + seconds(46)) << "from when it was taken";
  EXPECT_EQ(recovery.due(kStart + seconds(46)), Step::kReconnect);
  EXPECT_EQ(recovery.deadline(), kNever);
  EXPECT_EQ(recovery.due(kStart + seconds(10000)), Step::kNone);
}

TEST(SrpRecovery, GoesOnAtOnceWhereTheTargetRefuses) {
  Recovery recovery(kStart, kPatience);
  EXPECT_EQ(recovery.on_managed(TaskFunction::kAbortTask, kStart), Step::kNone)
      << "of another command";
  EXPECT_EQ(recovery.due(kStart + seconds(30)), Step::kAbort);
  EXPECT_EQ(recovery.on_managed(TaskFunction::kLunReset, kStart + seconds(31)), Step::kNone);
  EXPECT_EQ(recovery.on_managed(TaskFunction::kAbortTask, kStart + seconds(31)), Step::kResetLun);
  EXPECT_EQ(recovery.on_managed(TaskFunction::kAbortTask, kStart + seconds(32)), Step::kNone)
      << "an answer that comes late";
  EXPECT_EQ(recovery.on_managed(TaskFunction::kLunReset, kStart + seconds(32)), Step::kReconnect);
  EXPECT_EQ(recovery.on_managed(TaskFunction::kLunReset, kStart + seconds(33)), Step::kNone);
}

TEST(SrpRecovery, GoesOnAtOnceWhereAStepCannotBeSent) {
  Recovery recovery(kStart, kPatience);
  EXPECT_EQ(recovery.due(kStart + seconds(30)), Step::kAbort);
  EXPECT_EQ(recovery.on_not_sent(kStart + seconds(30)), Step::kResetLun);
  EXPECT_EQ(recovery.on_not_sent(kStart + seconds(30)), Step::kReconnect);
  EXPECT_EQ(recovery.on_not_sent(kStart + seconds(30)), Step::kNone);
}

}  // namespace
}  // namespace paravane::srp
