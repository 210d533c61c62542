#include "storage/unit_fence.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "testing/held_task_path.h"

namespace paravane::storage {
namespace {

using fake::HeldTaskPath;
using fake::sense_result;
using Kind = TaskResult::Kind;

class UnitFenceTest : public testing::Test {
 protected:
  UnitPath by(HeldTaskPath& tasks) {
    return {.name = "path", .place = {}, .lun = scsi::Lun::of(3), .tasks = &tasks};
  }
  void run() { fence->run(by(path), now); }
  void answer(const TaskResult& result = {}) {
    path.answer(result);
    run();
  }
  static TaskResult attention() { return sense_result(scsi::SenseKey::kUnitAttention, 0x29); }

  Instant now{std::chrono::hours(1)};
  HeldTaskPath path;
  unsigned woken = 0;
  std::unique_ptr<UnitFence> fence = std::make_unique<UnitFence>([this] { ++woken; });
};

TEST_F(UnitFenceTest, IsClosedAtFirstAndOpensAfterAResetAndATest) {
  EXPECT_FALSE(fence->is_open());
  EXPECT_LE(fence->next_look(), now);
  run();
  ASSERT_EQ(path.held.size(), 1u);
  EXPECT_TRUE(path.held[0].is_reset);
  EXPECT_EQ(path.held[0].task.lun, scsi::Lun::of(3));
  EXPECT_EQ(fence->next_look(), kNever);
  run();
  EXPECT_EQ(path.held.size(), 1u) << "it waits for the answer";
  path.answer();
  EXPECT_EQ(woken, 1u);
  EXPECT_FALSE(fence->is_open());
  run();
  ASSERT_EQ(path.held.size(), 1u);
  EXPECT_FALSE(path.held[0].is_reset);
  EXPECT_EQ(path.held[0].operation(), std::byte{0});
  answer();
  EXPECT_TRUE(fence->is_open());
  EXPECT_EQ(fence->next_look(), kNever);
  EXPECT_EQ(fence->problem(), "");
  EXPECT_EQ(fence->resets(), 1u);
  EXPECT_TRUE(path.held.empty());
}

TEST_F(UnitFenceTest, TakesUnitAttentionsAndBusyAnswersAway) {
  run();
  answer();
  answer(attention());
  answer({.kind = Kind::kBusy});
  answer(sense_result(scsi::SenseKey::kNotReady, 0x04, 0x01));
  EXPECT_FALSE(fence->is_open());
  answer();
  EXPECT_TRUE(fence->is_open());
  EXPECT_EQ(path.resets, 1u);
}

TEST_F(UnitFenceTest, AResetThatIsRefusedOrLostIsTriedAgainAfterAPause) {
  for (const Kind kind : {Kind::kOther, Kind::kLost, Kind::kAborted}) {
    const unsigned before = path.resets;
    run();
    answer({.kind = kind});
    EXPECT_NE(fence->problem(), "");
    EXPECT_EQ(fence->next_look(), now + UnitFence::kPause);
    run();
    EXPECT_EQ(path.resets, before + 1) << "too early";
    now += UnitFence::kPause;
  }
  run();
  answer();
  answer();
  EXPECT_TRUE(fence->is_open());
  EXPECT_EQ(fence->problem(), "");
  EXPECT_EQ(fence->resets(), 4u);
}

TEST_F(UnitFenceTest, ATestThatIsLostMeansAnotherReset) {
  run();
  answer();
  answer({.kind = Kind::kLost});
  EXPECT_FALSE(fence->is_open());
  EXPECT_EQ(fence->next_look(), now + UnitFence::kPause);
  now += UnitFence::kPause;
  run();
  EXPECT_EQ(path.resets, 2u);
}

TEST_F(UnitFenceTest, AUnitThatIsNotReadyIsAskedAgainInTimeAndNotResetAgain) {
  run();
  answer();
  for (unsigned i = 0; i < UnitFence::kMostTests; ++i) {
    ASSERT_EQ(path.held.size(), 1u) << i;
    answer(sense_result(scsi::SenseKey::kNotReady, 0x04, 0x01));
  }
  EXPECT_TRUE(path.held.empty());
  EXPECT_NE(fence->problem(), "");
  EXPECT_EQ(fence->next_look(), now + UnitFence::kPause);
  run();
  EXPECT_TRUE(path.held.empty()) << "too early";
  now += UnitFence::kPause;
  run();
  ASSERT_EQ(path.held.size(), 1u);
  EXPECT_FALSE(path.held[0].is_reset);
  answer();
  EXPECT_TRUE(fence->is_open());
  EXPECT_EQ(fence->resets(), 1u);
}

TEST_F(UnitFenceTest, AnswersOfAnEarlierRunCountNoMore) {
  run();
  answer();
  fence->close();
  path.answer();
  EXPECT_EQ(woken, 1u);
  run();
  ASSERT_EQ(path.held.size(), 1u);
  EXPECT_TRUE(path.held[0].is_reset) << "a test before close() opens nothing";
  EXPECT_FALSE(fence->is_open());
}

TEST_F(UnitFenceTest, ClosesAgainAfterItWasOpen) {
  run();
  answer();
  answer();
  ASSERT_TRUE(fence->is_open());
  fence->close();
  EXPECT_FALSE(fence->is_open());
  EXPECT_LE(fence->next_look(), now);
  run();
  EXPECT_EQ(path.resets, 2u);
}

TEST_F(UnitFenceTest, MayBeGoneWhenTheAnswerComes) {
  run();
  fence.reset();
  path.answer();
  EXPECT_EQ(woken, 0u);
}

}  // namespace
}  // namespace paravane::storage
