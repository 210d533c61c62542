// What becomes of a device's requests when its paths come and go.

#include <gtest/gtest.h>

#include <algorithm>

#include "storage/device_test.h"

namespace paravane::storage {
namespace {

using What = Device::News::What;
using Answers = std::vector<BlockResult>;

class DevicePathsTest : public DeviceFixture {
 protected:
  void begin_with_two() {
    begin();
    add(1, b);
    settle();
    news.clear();
  }
};

TEST_F(DevicePathsTest, WritesThatWereUnderWayGoByAnotherPathAfterAReset) {
  begin_with_two();
  write();
  read();
  lose(0, a);
  ASSERT_EQ(b.held.size(), 1u);
  EXPECT_TRUE(b.held[0].is_reset) << "before anything else";
  answer(b);
  ASSERT_EQ(b.held.size(), 1u);
  EXPECT_EQ(b.held[0].operation(), std::byte{0});
  answer(b, sense_result(scsi::SenseKey::kUnitAttention, 0x29));
  answer(b);
  ASSERT_EQ(b.held.size(), 2u);
  EXPECT_EQ(b.held[0].operation(), kOperationWrite);
  EXPECT_EQ(b.held[1].operation(), kOperationRead);
  b.answer_all();
  settle();
  EXPECT_EQ(heard(), Answers(2, BlockResult::kDone));
  EXPECT_EQ(device->counters().moved.value(), 2u);
  EXPECT_EQ(device->counters().failovers.value(), 1u);
  EXPECT_EQ(told(What::kPathDead), 1u);
  EXPECT_EQ(told(What::kFailover), 1u);
  EXPECT_EQ(told(What::kNoPath), 0u);
}

TEST_F(DevicePathsTest, ATrimThatWasUnderWayIsFencedOffToo) {
  begin_with_two();
  submit(BlockOperation::kTrim, 0, 512);
  settle();
  lose(0, a);
  ASSERT_EQ(b.held.size(), 1u);
  EXPECT_TRUE(b.held[0].is_reset);
}

TEST_F(DevicePathsTest, ReadsAndFlushesNeedNoReset) {
  begin_with_two();
  read();
  submit(BlockOperation::kFlush, 0, 0);
  settle();
  lose(0, a);
  ASSERT_EQ(b.held.size(), 2u);
  EXPECT_EQ(b.held[0].operation(), kOperationRead);
  EXPECT_EQ(b.held[1].operation(), kOperationFlush);
  EXPECT_EQ(b.resets, 0u);
}

TEST_F(DevicePathsTest, AWriteThatWasAnsweredNeedsNoReset) {
  begin_with_two();
  write();
  answer(a);
  lose(0, a);
  write();
  ASSERT_EQ(b.held.size(), 1u);
  EXPECT_EQ(b.held[0].operation(), kOperationWrite);
}

TEST_F(DevicePathsTest, RequestsWaitWhileTheResetFails) {
  begin_with_two();
  write();
  lose(0, a);
  answer(b, {.kind = TaskResult::Kind::kOther});
  EXPECT_TRUE(b.held.empty());
  EXPECT_NE(device->problem(), "");
  pass(UnitFence::kPause);
  ASSERT_EQ(b.held.size(), 1u);
  EXPECT_TRUE(b.held[0].is_reset);
  answer(b);
  answer(b);
  answer(b);
  EXPECT_EQ(heard(), Answers{BlockResult::kDone});
  EXPECT_EQ(device->problem(), "");
}

TEST_F(DevicePathsTest, RequestsFailWhenTheResetFailsForTooLong) {
  begin_with_two();
  write();
  lose(0, a);
  Duration waited{};
  while (client.done.empty()) {
    ASSERT_LE(waited, Device::kPathWait);
    for (const auto& held : b.held) EXPECT_TRUE(held.is_reset || held.operation() == std::byte{0});
    while (!b.held.empty()) answer(b, {.kind = TaskResult::Kind::kOther});
    waited += UnitFence::kPause;
    pass(UnitFence::kPause);
  }
  EXPECT_EQ(waited, Device::kPathWait);
  EXPECT_EQ(heard(), Answers{BlockResult::kIo});
  EXPECT_EQ(told(What::kFailing), 1u);
  EXPECT_EQ(news.back().why, device->problem());
  // The next one finds it mended.
  b.held.clear();
  pass(UnitFence::kPause);
  while (!b.held.empty()) answer(b, {.kind = TaskResult::Kind::kOther});
  pass(UnitFence::kPause);
  write();
  EXPECT_TRUE(client.done.empty());
}

TEST_F(DevicePathsTest, AResetThatIsLostIsDoneByTheNextPath) {
  begin_with_two();
  write();
  lose(0, a);
  ASSERT_EQ(b.held.size(), 1u);
  a.up = true;
  add(0, a);
  lose(1, b);
  pass(UnitFence::kPause);
  ASSERT_EQ(a.held.size(), 1u);
  EXPECT_TRUE(a.held[0].is_reset);
  fence(a);
  answer(a);
  EXPECT_EQ(heard(), Answers{BlockResult::kDone});
}

TEST_F(DevicePathsTest, AWriteThatIsLostTwiceIsFencedOffTwice) {
  begin_with_two();
  write();
  lose(0, a);
  fence(b);
  ASSERT_EQ(b.held.size(), 1u);
  a.up = true;
  add(0, a);
  settle();
  lose(1, b);
  ASSERT_EQ(a.held.size(), 1u);
  EXPECT_TRUE(a.held[0].is_reset);
}

TEST_F(DevicePathsTest, GoesBackToThePreferredPathWhenAllIsOver) {
  begin_with_two();
  lose(0, a);
  write();
  read();
  ASSERT_EQ(b.held.size(), 2u);
  a.up = true;
  add(0, a);
  write();
  EXPECT_EQ(b.held.size(), 2u);
  EXPECT_TRUE(a.held.empty()) << "while some are under way, nothing new is sent";
  answer(b);
  EXPECT_TRUE(a.held.empty());
  answer(b);
  ASSERT_EQ(a.held.size(), 1u);
  EXPECT_EQ(a.held[0].operation(), kOperationWrite) << "nothing was lost, so there is no reset";
  answer(a);
  EXPECT_EQ(heard(), Answers(3, BlockResult::kDone));
  EXPECT_EQ(device->counters().failovers.value(), 2u);
  EXPECT_EQ(told(What::kPathBack), 1u);
}

TEST_F(DevicePathsTest, WithoutAPathRequestsWaitThenFailAndLaterOnesFailAtOnce) {
  begin();
  write();
  read();
  lose(0, a);
  EXPECT_EQ(told(What::kNoPath), 1u);
  EXPECT_NE(device->problem(), "");
  pass(Device::kPathWait - std::chrono::nanoseconds(1));
  EXPECT_TRUE(client.done.empty());
  EXPECT_EQ(told(What::kFailing), 0u);
  pass(std::chrono::nanoseconds(1));
  EXPECT_EQ(heard(), Answers(2, BlockResult::kIo));
  EXPECT_EQ(news.back().why, "no path has worked for 15 s");
  write();
  EXPECT_EQ(heard(), Answers{BlockResult::kIo});
  EXPECT_EQ(told(What::kNoPath), 1u);
  EXPECT_EQ(told(What::kFailing), 1u) << "once";
  a.up = true;
  add(0, a);
  write();
  EXPECT_TRUE(client.done.empty());
  fence(a);
  answer(a);
  EXPECT_EQ(heard(), Answers{BlockResult::kDone});
  EXPECT_EQ(told(What::kPathBack), 1u);
  lose(0, a);
  write();
  pass(Device::kPathWait);
  EXPECT_EQ(told(What::kFailing), 2u) << "anew, after a path was back";
}

TEST_F(DevicePathsTest, TheWaitCountsFromTheLossOfThePath) {
  begin();
  lose(0, a);
  pass(Device::kPathWait / 2);
  write();
  pass(Device::kPathWait / 2);
  EXPECT_EQ(heard(), Answers{BlockResult::kIo});
}

TEST_F(DevicePathsTest, APathThatIsBackInTimeTakesWhatWaits) {
  begin();
  read();
  lose(0, a);
  pass(Device::kPathWait - std::chrono::seconds(1));
  a.up = true;
  add(0, a);
  settle();
  ASSERT_EQ(a.held.size(), 1u);
  EXPECT_EQ(a.held[0].operation(), kOperationRead);
  pass(std::chrono::seconds(5));
  answer(a);
  EXPECT_EQ(heard(), Answers{BlockResult::kDone});
  lose(0, a);
  read();
  pass(Device::kPathWait - std::chrono::seconds(1));
  EXPECT_TRUE(client.done.empty()) << "the wait begins anew";
}

TEST_F(DevicePathsTest, AUnitThatIsGoneMakesItsPathDead) {
  begin_with_two();
  write();
  answer(a, sense_result(scsi::SenseKey::kIllegalRequest, 0x25));
  EXPECT_EQ(looks, std::vector{place_of(0)});
  EXPECT_EQ(device->paths().find(place_of(0))->tasks, nullptr);
  ASSERT_EQ(b.held.size(), 1u);
  EXPECT_EQ(b.held[0].operation(), kOperationWrite);
  answer(b);
  EXPECT_EQ(heard(), Answers{BlockResult::kDone});
}

TEST_F(DevicePathsTest, OthersStayOnTheirPathWhileAUnitThatIsGoneAnswersThem) {
  begin_with_two();
  write();
  write();
  answer(a, sense_result(scsi::SenseKey::kIllegalRequest, 0x25));
  EXPECT_TRUE(b.held.empty()) << "one is under way on the other path";
  answer(a, sense_result(scsi::SenseKey::kIllegalRequest, 0x25));
  EXPECT_EQ(b.held.size(), 2u);
}

TEST_F(DevicePathsTest, ARemovedPathIsUsedNoMore) {
  begin_with_two();
  a.end();
  device->lose_path(place_of(0), "it is removed");
  device->remove_path(place_of(0));
  settle();
  write();
  ASSERT_EQ(b.held.size(), 1u);
  device->remove_path(place_of(7));
  device->lose_path(place_of(7), "there is none");
  EXPECT_EQ(device->paths().all().size(), 1u);
}

TEST_F(DevicePathsTest, IsStillWhileReadsAreUnderWayAndTheFenceIsClosed) {
  begin_with_two();
  read();
  write();
  answer(a, {.kind = TaskResult::Kind::kLost}, 1);
  // The read is still under way: no timer may wake the owner again and again.
  EXPECT_EQ(woken, 0u);
  EXPECT_EQ(a.resets, 0u);
  const Instant next = timers.next_deadline();
  EXPECT_GT(next, now);
}

TEST_F(DevicePathsTest, IsStillWithoutRequests) {
  begin_with_two();
  lose(0, a);
  lose(1, b);
  pass(Device::kPathWait);  // a timer of the fence may be left
  EXPECT_EQ(timers.size(), 0u);
  EXPECT_EQ(woken, 0u);
}

}  // namespace
}  // namespace paravane::storage
