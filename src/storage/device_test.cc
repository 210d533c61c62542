#include "storage/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "guestmem/payload.h"
#include "storage/device_test.h"
#include "wire/scsi/command.h"

namespace paravane::storage {
namespace {

using Results = std::vector<BlockResult>;

// Of READ(16) and WRITE(16).
std::uint64_t block_of(const HeldTaskPath::Held& held) {
  std::uint64_t block = 0;
  for (std::size_t i = 2; i < 10; ++i) {
    block = block << 8 | std::to_integer<std::uint64_t>(held.task.request.cdb[i]);
  }
  return block;
}
std::uint32_t blocks_of(const HeldTaskPath::Held& held) {
  std::uint32_t blocks = 0;
  for (std::size_t i = 10; i < 14; ++i) {
    blocks = blocks << 8 | std::to_integer<std::uint32_t>(held.task.request.cdb[i]);
  }
  return blocks;
}
bool is_forced(const HeldTaskPath::Held& held) {
  return (held.task.request.cdb[1] & std::byte{8}) != std::byte{0};
}

class DeviceTest : public DeviceFixture {};

TEST_F(DeviceTest, SaysWhatTheUnitIs) {
  facts.is_read_only = false;
  const nbd::Geometry geometry = device->geometry();
  EXPECT_EQ(geometry.bytes, std::uint64_t{512} << 20);
  EXPECT_EQ(geometry.block_bytes, 512u);
  EXPECT_EQ(geometry.most_bytes, host_verbs::ServiceMemory::kPayloadBytes);
  EXPECT_TRUE(geometry.has_write_cache);
  EXPECT_TRUE(geometry.can_trim);
  EXPECT_FALSE(geometry.can_write_zeroes);
  EXPECT_EQ(device->name(), facts.name);
  EXPECT_NE(device->problem(), "");
  add(0, a);
  EXPECT_EQ(device->problem(), "");
}

TEST_F(DeviceTest, HasOneClientAtATime) {
  RecordingClient other;
  EXPECT_TRUE(device->open(client));
  EXPECT_FALSE(device->open(other));
  device->close(other);
  EXPECT_TRUE(device->is_open());
  settle();
  EXPECT_EQ(client.ready, 1u);
  device->close(client);
  EXPECT_FALSE(device->is_open());
  EXPECT_TRUE(device->open(other));
  settle();
  EXPECT_EQ(other.ready, 1u);
}

TEST_F(DeviceTest, TheFirstUseResetsTheUnitOnceBeforeAnythingElseIsSent) {
  add(0, a);
  device->open(client);
  settle();
  EXPECT_TRUE(a.held.empty()) << "what is not used is not reset";
  write();
  read();
  ASSERT_EQ(a.held.size(), 1u);
  EXPECT_TRUE(a.held[0].is_reset);
  answer(a);
  ASSERT_EQ(a.held.size(), 1u);
  EXPECT_EQ(a.held[0].operation(), std::byte{0});
  answer(a, sense_result(scsi::SenseKey::kUnitAttention, 0x29));
  ASSERT_EQ(a.held.size(), 1u);
  answer(a);
  ASSERT_EQ(a.held.size(), 2u);
  EXPECT_EQ(a.held[0].operation(), kOperationWrite);
  EXPECT_EQ(a.held[1].operation(), kOperationRead);
  a.answer_all();
  settle();
  EXPECT_EQ(heard(), Results(2, BlockResult::kDone));
  device->close(client);
  RecordingClient next;
  device->open(next);
  settle();
  write();
  ASSERT_EQ(a.held.size(), 1u);
  EXPECT_EQ(a.held[0].operation(), kOperationWrite) << "the next client needs no reset";
  EXPECT_EQ(device->resets(), 1u);
}

TEST_F(DeviceTest, SendsRequestsInTheOrderOfTheirComing) {
  begin();
  for (std::uint64_t i = 0; i < 4; ++i) {
    submit(i % 2 == 0 ? BlockOperation::kWrite : BlockOperation::kRead, i * 4096, 4096);
  }
  settle();
  ASSERT_EQ(a.held.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(block_of(a.held[i]), i * 8);
    EXPECT_EQ(blocks_of(a.held[i]), 8u);
    EXPECT_EQ(a.held[i].operation(), i % 2 == 0 ? kOperationWrite : kOperationRead);
    EXPECT_EQ(a.held[i].task.request.bytes, 4096u);
    EXPECT_TRUE(a.held[i].task.payload);
  }
  answer(a, {}, 3);
  answer(a, {}, 1);
  ASSERT_EQ(client.done.size(), 2u);
  EXPECT_EQ(client.done[0].first, 4u);
  EXPECT_EQ(client.done[1].first, 2u);
}

TEST_F(DeviceTest, CutsALargeRequestIntoPiecesThatTheUnitTakes) {
  facts.most_transfer_blocks = 24;
  device = std::make_unique<Device>(facts, surroundings());
  begin();
  write(512 * 100, 512 * 60);
  std::uint32_t done = 0;
  for (const std::uint32_t blocks : {24u, 24u, 12u}) {
    ASSERT_EQ(a.held.size(), 1u);
    EXPECT_EQ(block_of(a.held[0]), 100 + done);
    EXPECT_EQ(blocks_of(a.held[0]), blocks);
    EXPECT_EQ(a.held[0].task.offset, done * 512);
    done += blocks;
    EXPECT_TRUE(client.done.empty());
    answer(a);
  }
  EXPECT_EQ(heard(), Results{BlockResult::kDone});
  EXPECT_EQ(device->counters().writes.value(), 1u);
  EXPECT_EQ(device->counters().written_bytes.value(), 512u * 60);
}

TEST_F(DeviceTest, APieceThatFailsEndsTheRequest) {
  facts.most_transfer_blocks = 8;
  device = std::make_unique<Device>(facts, surroundings());
  begin();
  read(0, 8192);
  answer(a);
  answer(a, sense_result(scsi::SenseKey::kMedium, 0x11));
  EXPECT_EQ(heard(), Results{BlockResult::kIo});
  EXPECT_TRUE(a.held.empty());
}

TEST_F(DeviceTest, BlocksAreThoseOfTheUnit) {
  facts.block_bytes = 4096;
  device = std::make_unique<Device>(facts, surroundings());
  begin();
  write(8192, 12288);
  ASSERT_EQ(a.held.size(), 1u);
  EXPECT_EQ(block_of(a.held[0]), 2u);
  EXPECT_EQ(blocks_of(a.held[0]), 3u);
}

TEST_F(DeviceTest, FlushesAndForcesWhereThereIsACache) {
  begin();
  submit(BlockOperation::kFlush, 0, 0);
  submit(BlockOperation::kWrite, 0, 512, /*force=*/true);
  submit(BlockOperation::kWrite, 0, 512);
  settle();
  ASSERT_EQ(a.held.size(), 3u);
  EXPECT_EQ(a.held[0].operation(), kOperationFlush);
  EXPECT_FALSE(a.held[0].task.payload);
  EXPECT_TRUE(is_forced(a.held[1]));
  EXPECT_FALSE(is_forced(a.held[2]));
  a.answer_all();
  settle();
  EXPECT_EQ(heard(), Results(3, BlockResult::kDone));
  EXPECT_EQ(device->counters().flushes.value(), 2u);
}

TEST_F(DeviceTest, FlushesAndForcesNothingWhereThereIsNoCache) {
  facts.has_write_cache = false;
  device = std::make_unique<Device>(facts, surroundings());
  add(0, a);
  device->open(client);
  settle();
  submit(BlockOperation::kFlush, 0, 0);
  submit(BlockOperation::kWrite, 0, 512, /*force=*/true);
  settle();
  fence(a);
  ASSERT_EQ(a.held.size(), 1u);
  EXPECT_FALSE(is_forced(a.held[0]));
  EXPECT_EQ(heard(), Results{BlockResult::kDone});
}

TEST_F(DeviceTest, GivesBlocksBackInPieces) {
  begin();
  submit(BlockOperation::kTrim, 512 * 8, 512 * 1500);
  settle();
  std::uint64_t block = 8;
  for (const std::uint32_t blocks : {1024u, 476u}) {
    ASSERT_EQ(a.held.size(), 1u);
    EXPECT_EQ(a.held[0].operation(), kOperationUnmap);
    ASSERT_TRUE(a.held[0].task.payload);
    std::array<std::byte, scsi::unmap_list_bytes(1)> list{};
    ExtentList extents;
    ASSERT_TRUE(memory->extents(*a.held[0].task.payload, 0, list.size(), extents));
    ASSERT_TRUE(gather_payload(extents, list));
    std::array<std::byte, scsi::unmap_list_bytes(1)> expected{};
    const scsi::BlockRange range{.block = block, .blocks = blocks};
    scsi::write_unmap_list(std::span(&range, 1), expected);
    EXPECT_EQ(list, expected);
    block += blocks;
    answer(a);
  }
  EXPECT_EQ(heard(), Results{BlockResult::kDone});
  EXPECT_EQ(memory->payloads().free(), kPayloads);
  EXPECT_EQ(device->counters().trims.value(), 1u);
}

TEST_F(DeviceTest, MissingBytesFailARequest) {
  begin();
  read();
  answer(a, {.missing = 1});
  write();
  answer(a, {.missing = 4096});
  EXPECT_EQ(heard(), Results(2, BlockResult::kIo));
  EXPECT_EQ(device->counters().failed.value(), 2u);
}

TEST_F(DeviceTest, BuffersOfOneDeviceAreBounded) {
  begin();
  std::vector<std::unique_ptr<nbd::BlockBuffer>> taken;
  for (std::uint32_t i = 0; i < Device::kMostBuffers; ++i) {
    taken.push_back(device->take_buffer(512));
    ASSERT_NE(taken.back(), nullptr);
  }
  EXPECT_EQ(device->take_buffer(512), nullptr);
  taken.pop_back();
  EXPECT_EQ(freed, 1u);
  device->on_memory();
  settle();
  EXPECT_EQ(client.rooms, 1u);
  device->on_memory();
  settle();
  EXPECT_EQ(client.rooms, 1u) << "told once";
  EXPECT_NE(device->take_buffer(512), nullptr);
}

TEST_F(DeviceTest, OneDeviceLeavesMemoryForAnotherAndBothForScans) {
  begin();
  RecordingClient others_client;
  Device other(facts_of("naa.6001405000000000000000000000002"), surroundings());
  other.open(others_client);
  Device third(facts_of("naa.6001405000000000000000000000003"), surroundings());
  RecordingClient thirds_client;
  third.open(thirds_client);
  std::vector<std::unique_ptr<nbd::BlockBuffer>> taken;
  const auto take_all = [&](Device& from) {
    std::size_t count = 0;
    while (auto buffer = from.take_buffer(512)) {
      taken.push_back(std::move(buffer));
      ++count;
    }
    return count;
  };
  EXPECT_EQ(take_all(*device), Device::kMostBuffers);
  EXPECT_EQ(take_all(other), kPayloads - Device::kMostBuffers - Device::kLeftForOthers);
  EXPECT_EQ(take_all(third), Device::kSureBuffers) << "of those that are left for such";
  EXPECT_EQ(memory->payloads().free(), Device::kLeftForOthers - Device::kSureBuffers);
  taken.clear();
  EXPECT_EQ(memory->payloads().free(), kPayloads);
}

TEST_F(DeviceTest, ManyTrimsLeaveMemoryForOthersAndAllEnd) {
  begin();
  for (int i = 0; i < 60; ++i) submit(BlockOperation::kTrim, 0, 512);
  settle();
  EXPECT_EQ(a.held.size(), Device::kMostBuffers + Device::kMostLists);
  EXPECT_GE(memory->payloads().free(), kPayloads - Device::kMostBuffers - Device::kMostLists);
  for (int i = 0; i < 60; ++i) {
    ASSERT_FALSE(a.held.empty()) << i;
    a.answer();
    settle();
    if (std::exchange(freed, 0) > 0) device->on_memory();
    settle();
  }
  EXPECT_EQ(heard(), Results(60, BlockResult::kDone));
}

// Its list would need memory that only the writes behind it can give back.
TEST_F(DeviceTest, ATrimWithoutMemoryLetsOthersPass) {
  begin();
  std::vector<std::uint32_t> others;
  while (memory->payloads().free() > Device::kLeftForScans + 1) {
    others.push_back(*memory->payloads().take());
  }
  nbd::BlockRequest request{.operation = BlockOperation::kWrite, .offset = 0, .length = 512};
  request.buffer = device->take_buffer(512);
  ASSERT_NE(request.buffer, nullptr);
  submit(BlockOperation::kTrim, 0, 512);
  device->submit(next_tag++, std::move(request));
  settle();
  ASSERT_EQ(a.held.size(), 1u);
  EXPECT_EQ(a.held[0].operation(), kOperationWrite);
  answer(a);
  EXPECT_EQ(freed, 1u);
  device->on_memory();
  settle();
  ASSERT_EQ(a.held.size(), 1u);
  EXPECT_EQ(a.held[0].operation(), kOperationUnmap);
  answer(a);
  EXPECT_EQ(heard(), Results(2, BlockResult::kDone));
}

TEST_F(DeviceTest, EachMeaningOfSenseHasItsResult) {
  using enum scsi::SenseKey;
  const struct {
    TaskResult answer;
    BlockResult result;
  } rows[] = {
      {sense_result(kRecovered), BlockResult::kDone},
      {sense_result(kDataProtect, 0x27), BlockResult::kNotPermitted},
      {sense_result(kDataProtect, 0x27, 0x07), BlockResult::kNoSpace},
      {sense_result(kIllegalRequest, 0x20), BlockResult::kIo},
      {sense_result(kIllegalRequest, 0x21), BlockResult::kIo},
      {sense_result(kMedium, 0x11), BlockResult::kIo},
      {sense_result(kHardware), BlockResult::kIo},
      {sense_result(kReserved), BlockResult::kIo},
      {{.kind = TaskResult::Kind::kSense, .sense = {.key = kMedium, .is_deferred = true}},
       BlockResult::kIo},
      {{.kind = TaskResult::Kind::kConflict}, BlockResult::kIo},
      {{.kind = TaskResult::Kind::kOther}, BlockResult::kIo},
  };
  begin();
  for (const auto& row : rows) {
    write();
    answer(a, row.answer);
    EXPECT_EQ(heard(), Results{row.result}) << row.answer.sense.sentence();
  }
  submit(BlockOperation::kTrim, 0, 512);
  settle();
  answer(a, sense_result(kIllegalRequest, 0x20));
  EXPECT_EQ(heard(), Results{BlockResult::kNotSupported});
  EXPECT_TRUE(a.held.empty());
  EXPECT_TRUE(looks.empty());
}

TEST_F(DeviceTest, RetriesAtOnceButNotForEver) {
  begin();
  write();
  for (unsigned i = 0; i < Device::kMostRetries; ++i) {
    answer(a, i % 2 == 0 ? sense_result(scsi::SenseKey::kUnitAttention, 0x29)
                         : TaskResult{.kind = TaskResult::Kind::kAborted});
    ASSERT_EQ(a.held.size(), 1u) << i;
    EXPECT_EQ(a.held[0].operation(), kOperationWrite);
  }
  answer(a, sense_result(scsi::SenseKey::kUnitAttention, 0x29));
  EXPECT_EQ(heard(), Results{BlockResult::kIo});
  EXPECT_EQ(device->counters().retried.value(), Device::kMostRetries);
  EXPECT_EQ(a.resets, 0u);
}

TEST_F(DeviceTest, LooksAgainWhenUnitsOrTheCapacityHaveChanged) {
  begin();
  write();
  answer(a, sense_result(scsi::SenseKey::kUnitAttention, 0x3F, 0x0E));
  EXPECT_EQ(looks, std::vector{place_of(0)});
  answer(a, sense_result(scsi::SenseKey::kUnitAttention, 0x2A, 0x09));
  EXPECT_EQ(looks.size(), 2u);
  answer(a);
  EXPECT_EQ(heard(), Results{BlockResult::kDone});
}

TEST_F(DeviceTest, ABusyUnitIsAskedAgainInPausesUntilItsTimeIsOver) {
  begin();
  const Instant first = now;
  write();
  while (heard().empty()) {
    ASSERT_EQ(a.held.size(), 1u);
    answer(a, a.executed % 2 == 0 ? TaskResult{.kind = TaskResult::Kind::kBusy}
                                  : sense_result(scsi::SenseKey::kNotReady, 0x04, 0x01));
    ASSERT_TRUE(a.held.empty());
    if (!client.done.empty()) continue;
    pass(Device::kBusyPause / 2);
    ASSERT_TRUE(a.held.empty()) << "too early";
    pass(Device::kBusyPause / 2);
  }
  EXPECT_EQ(now - first, Device::kMostBusy);
}

TEST_F(DeviceTest, BeingBusyCountsFromTheFirstAnswerAndIsForgottenAfterAGoodOne) {
  facts.most_transfer_blocks = 8;
  device = std::make_unique<Device>(facts, surroundings());
  begin();
  write(0, 8192);
  answer(a, {.kind = TaskResult::Kind::kBusy});
  pass(Device::kMostBusy - std::chrono::seconds(1));
  answer(a);
  answer(a, {.kind = TaskResult::Kind::kBusy});
  pass(std::chrono::seconds(2));
  answer(a, {.kind = TaskResult::Kind::kBusy});
  EXPECT_TRUE(client.done.empty());
  pass(Device::kBusyPause);
  answer(a);
  EXPECT_EQ(heard(), Results{BlockResult::kDone});
}

TEST_F(DeviceTest, TheNextClientIsReadyWhenAllOfTheOneBeforeIsOver) {
  begin();
  write();
  submit(BlockOperation::kWrite, 0, 512);
  settle();
  answer(a, {.kind = TaskResult::Kind::kBusy}, 1);
  ASSERT_EQ(a.held.size(), 1u);
  device->close(client);
  RecordingClient next;
  ASSERT_TRUE(device->open(next));
  settle();
  EXPECT_EQ(next.ready, 0u);
  pass(std::chrono::seconds(1));
  EXPECT_EQ(a.executed, 2u) << "what waited for a time is not sent";
  EXPECT_EQ(next.ready, 0u);
  answer(a);
  EXPECT_EQ(next.ready, 1u);
  EXPECT_TRUE(client.done.empty());
  EXPECT_TRUE(next.done.empty());
  EXPECT_EQ(memory->payloads().free(), kPayloads);
}

TEST_F(DeviceTest, ALateWriteOfAClientThatIsGoneClosesTheFence) {
  begin();
  write();
  device->close(client);
  lose(0, a);
  a.up = true;
  add(0, a);
  ASSERT_TRUE(device->open(client));
  settle();
  EXPECT_GE(client.ready, 2u);
  write();
  ASSERT_EQ(a.held.size(), 1u);
  EXPECT_TRUE(a.held[0].is_reset);
}

TEST_F(DeviceTest, AClientMayCloseItWhenItHearsOfARequest) {
  begin();
  write();
  write();
  read();
  client.when_done = [this] { device->close(client); };
  a.answer_all();
  settle();
  EXPECT_EQ(client.done.size(), 1u);
  EXPECT_FALSE(device->is_open());
  EXPECT_EQ(memory->payloads().free(), kPayloads);
}

TEST_F(DeviceTest, MayBeGoneWhenTasksAndBuffersComeBack) {
  begin();
  write();
  read();
  auto buffer = device->take_buffer(512);
  device.reset();
  EXPECT_TRUE(client.done.empty());
  woken = 0;
  a.answer_all();
  EXPECT_EQ(woken, 0u);
  buffer.reset();
  EXPECT_EQ(memory->payloads().free(), kPayloads);
  EXPECT_EQ(timers.size(), 0u);
}

TEST_F(DeviceTest, AnswersOfTheResetMayComeWhenItIsGone) {
  add(0, a);
  device->open(client);
  settle();
  write();
  ASSERT_EQ(a.held.size(), 1u);
  device.reset();
  woken = 0;
  a.answer();
  EXPECT_EQ(woken, 0u);
}

TEST_F(DeviceTest, AnotherSizeIsTakenWhileNothingUsesIt) {
  add(0, a);
  facts.blocks *= 2;
  add(1, b);
  EXPECT_EQ(device->geometry().bytes, std::uint64_t{1} << 30);
  EXPECT_NE(device->paths().find(place_of(1))->tasks, nullptr);
}

TEST_F(DeviceTest, AnotherSizeMakesAPathDeadWhileItIsInUse) {
  begin();
  const std::uint64_t bytes = device->geometry().bytes;
  facts.blocks *= 2;
  add(1, b);
  EXPECT_EQ(device->geometry().bytes, bytes);
  EXPECT_EQ(device->paths().find(place_of(1))->tasks, nullptr);
  EXPECT_NE(device->paths().find(place_of(1))->problem, "");
  lose(0, a);
  write();
  EXPECT_TRUE(b.held.empty());
  pass(Device::kPathWait);
  EXPECT_EQ(heard(), Results{BlockResult::kIo});
  EXPECT_TRUE(looks.empty());
  device->close(client);
  EXPECT_EQ(looks, std::vector{place_of(1)}) << "the next client may use what there is";
}

TEST_F(DeviceTest, ACacheThatAPathTellsOfIsFlushedFromThenOn) {
  facts.has_write_cache = false;
  device = std::make_unique<Device>(facts, surroundings());
  add(0, a);
  device->open(client);
  settle();
  write();
  fence(a);
  a.answer_all();
  settle();
  facts.has_write_cache = true;
  facts.most_transfer_blocks = 4;
  add(0, a);
  EXPECT_FALSE(device->geometry().has_write_cache) << "what the client knows stays";
  submit(BlockOperation::kFlush, 0, 0);
  settle();
  ASSERT_EQ(a.held.size(), 1u);
  EXPECT_EQ(a.held[0].operation(), kOperationFlush);
  answer(a);
  write();
  EXPECT_EQ(blocks_of(a.held[0]), 4u);
  device->close(client);
  EXPECT_TRUE(device->geometry().has_write_cache);
}

}  // namespace
}  // namespace paravane::storage
