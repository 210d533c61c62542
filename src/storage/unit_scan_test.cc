#include "storage/unit_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <map>
#include <memory>

#include "guestmem/payload.h"
#include "testing/fake_scsi_disk.h"
#include "testing/held_task_path.h"

namespace paravane::storage {
namespace {

using fake::FakeScsiDisk;
using testing::HasSubstr;
using Kind = TaskResult::Kind;

constexpr std::byte kReportLuns{0xA0};

// Carries commands out on disks in memory, one at a time.
class UnitScanTest : public testing::Test {
 protected:
  FakeScsiDisk& add(std::uint32_t number, FakeScsiDisk::Config config = {}) {
    config.serial = std::to_string(number) + config.serial;
    return *disks.emplace(scsi::Lun::of(number).address, std::make_unique<FakeScsiDisk>(config))
                .first->second;
  }
  void begin() {
    scan = std::make_unique<UnitScan>(path, *memory, timers, [this](UnitScan::Outcome outcome) {
      ++ended;
      last = std::move(outcome);
    });
    ASSERT_TRUE(scan->begin(now));
  }
  std::vector<std::byte> lun_list() const {
    std::vector<std::byte> list(8 + 8 * disks.size());
    const auto put = [&](std::size_t at, std::uint64_t value, std::size_t bytes) {
      for (std::size_t i = 0; i < bytes; ++i) {
        list[at + i] = static_cast<std::byte>(value >> (8 * (bytes - 1 - i)));
      }
    };
    put(0, 8 * disks.size(), 4);
    std::size_t at = 8;
    for (const auto& [address, disk] : disks) {
      put(at, address, 8);
      at += 8;
    }
    return list;
  }
  void give(const Task& task, const TaskDone& done, std::span<const std::byte> data) {
    const auto moved =
        static_cast<std::uint32_t>(std::min<std::size_t>(data.size(), task.request.bytes));
    ExtentList extents;
    ASSERT_TRUE(memory->extents(*task.payload, 0, moved, extents) &&
                scatter_payload(data.first(moved), extents));
    done({.missing = task.request.bytes - moved});
  }
  void answer_one() {
    auto held = path.held.front();
    path.held.pop_front();
    if (held.operation() == kReportLuns) return give(held.task, held.done, lun_list());
    const auto disk = disks.find(held.task.lun.address);
    if (disk == disks.end()) {
      return held.done(fake::sense_result(scsi::SenseKey::kIllegalRequest, 0x25));
    }
    const fake::DiskAnswer answer = disk->second->execute(held.task.request.cdb, {});
    if (answer.status == wire::scsi::Status::kGood) {
      return give(held.task, held.done, answer.data);
    }
    const auto sense = scsi::parse_sense(answer.sense);
    ASSERT_TRUE(sense);
    held.done({.kind = Kind::kSense, .sense = *sense});
  }
  void run() {
    for (unsigned answers = 0; !path.held.empty(); ++answers) {
      ASSERT_LT(answers, 100'000u);
      ASSERT_EQ(path.held.size(), 1u) << "one command at a time";
      answer_one();
    }
  }
  void scan_all() {
    begin();
    run();
    ASSERT_EQ(ended, 1u);
  }

  Instant now{std::chrono::hours(1)};
  std::unique_ptr<host_verbs::ServiceMemory> memory =
      host_verbs::ServiceMemory::make({.payloads = 1, .messages = 1}).value();
  TimerQueue timers;
  fake::HeldTaskPath path;
  std::map<std::uint64_t, std::unique_ptr<FakeScsiDisk>> disks;
  std::unique_ptr<UnitScan> scan;
  unsigned ended = 0;
  UnitScan::Outcome last;
};

TEST_F(UnitScanTest, FindsWhatEachDiskIs) {
  add(0, {.most_transfer_blocks = 64});
  add(3, {.block_bytes = 4096,
          .blocks = 16,
          .is_thin = false,
          .is_write_protected = true,
          .has_write_cache = false});
  scan_all();
  EXPECT_EQ(last.problem, "");
  ASSERT_EQ(last.units.size(), 2u);
  const UnitFacts& first = last.units[0];
  EXPECT_EQ(first.problem, "");
  EXPECT_EQ(first.number, 0u);
  EXPECT_EQ(first.vendor, "LIO-ORG");
  EXPECT_EQ(first.product, "disk0");
  EXPECT_EQ(first.blocks, 128u);
  EXPECT_EQ(first.block_bytes, 512u);
  EXPECT_EQ(first.most_transfer_blocks, 64u);
  EXPECT_GT(first.most_unmap_blocks, 0u);
  EXPECT_TRUE(first.has_write_cache);
  EXPECT_FALSE(first.is_read_only);
  EXPECT_THAT(first.name, HasSubstr("naa."));
  const UnitFacts& second = last.units[1];
  EXPECT_EQ(second.number, 3u);
  EXPECT_EQ(second.block_bytes, 4096u);
  EXPECT_EQ(second.most_unmap_blocks, 0u);
  EXPECT_FALSE(second.has_write_cache);
  EXPECT_TRUE(second.is_read_only);
  EXPECT_NE(second.name, first.name);
  scan.reset();
  EXPECT_EQ(memory->payloads().free(), 1u);
}

TEST_F(UnitScanTest, ATargetWithoutUnitsHasNone) {
  scan_all();
  EXPECT_EQ(last.problem, "");
  EXPECT_TRUE(last.units.empty());
}

TEST_F(UnitScanTest, FindsManyUnits) {
  for (std::uint32_t i = 0; i < 300; ++i) add(i, {.blocks = 8});
  scan_all();
  EXPECT_EQ(last.units.size(), scsi::LunList::kMost);
  for (const UnitFacts& unit : last.units) EXPECT_EQ(unit.problem, "");
}

TEST_F(UnitScanTest, OddUnitsAreNotOfferedAndOthersAre) {
  add(0, {.block_bytes = 520});
  add(1);
  begin();
  // A unit that goes away between the list and the questions.
  answer_one();
  run();
  ASSERT_EQ(ended, 1u);
  ASSERT_EQ(last.units.size(), 2u);
  EXPECT_THAT(last.units[0].problem, HasSubstr("520"));
  EXPECT_EQ(last.units[1].problem, "");
}

TEST_F(UnitScanTest, AUnitThatIsGoneIsNotOffered) {
  add(0);
  add(1);
  begin();
  answer_one();
  disks.erase(scsi::Lun::of(0).address);
  run();
  ASSERT_EQ(last.units.size(), 2u);
  EXPECT_NE(last.units[0].problem, "");
  EXPECT_EQ(last.units[1].problem, "");
}

TEST_F(UnitScanTest, ATargetWithoutAnAnswerHasAProblem) {
  begin();
  path.answer(fake::sense_result(scsi::SenseKey::kIllegalRequest, 0x20));
  ASSERT_EQ(ended, 1u);
  EXPECT_NE(last.problem, "");
}

TEST_F(UnitScanTest, AListThatIsNoneIsAProblem) {
  begin();
  path.answer({.missing = scsi::LunList::kAnswerBytes});
  ASSERT_EQ(ended, 1u);
  EXPECT_NE(last.problem, "");
}

TEST_F(UnitScanTest, MissingMoreThanWasAskedForDoesNotWrap) {
  begin();
  path.answer({.missing = 0xFFFF'FFFF});
  ASSERT_EQ(ended, 1u);
  EXPECT_NE(last.problem, "");
}

// What one answer leaves in memory is no part of the next.
TEST_F(UnitScanTest, AnAnswerWithoutDataIsNotTheOneBefore) {
  add(0);
  begin();
  answer_one();
  answer_one();
  auto held = path.held.front();
  path.held.pop_front();
  held.done({});  // good, but nothing was written
  ASSERT_EQ(path.held.size(), 1u) << "it asks for the serial number";
  EXPECT_EQ(path.held[0].task.request.cdb[2], std::byte{0x80});
}

TEST_F(UnitScanTest, ABusyUnitIsAskedAgainAfterAPause) {
  add(0);
  begin();
  path.answer({.kind = Kind::kBusy});
  EXPECT_TRUE(path.held.empty());
  now += UnitScan::kPause;
  timers.run_due(now);
  ASSERT_EQ(path.held.size(), 1u);
  run();
  ASSERT_EQ(ended, 1u);
  EXPECT_EQ(last.units.size(), 1u);
}

TEST_F(UnitScanTest, TriesAreBounded) {
  add(0);
  begin();
  for (unsigned i = 0; i < UnitScan::kMostTries; ++i) {
    ASSERT_EQ(path.held.size(), 1u);
    path.answer(fake::sense_result(scsi::SenseKey::kUnitAttention, 0x29));
  }
  EXPECT_EQ(ended, 1u);
  EXPECT_NE(last.problem, "");
}

TEST_F(UnitScanTest, UnitAttentionsTakeNothing) {
  FakeScsiDisk& disk = add(0);
  disk.fail_next({.key = scsi::SenseKey::kUnitAttention, .asc = 0x29});
  disk.fail_next({.key = scsi::SenseKey::kUnitAttention, .asc = 0x3F, .ascq = 0x0E});
  scan_all();
  EXPECT_EQ(last.units.at(0).problem, "");
}

TEST_F(UnitScanTest, EndsWithoutAResultWhenThePathIsLost) {
  add(0);
  add(1);
  begin();
  answer_one();
  answer_one();
  path.end();
  ASSERT_EQ(ended, 1u);
  EXPECT_NE(last.problem, "");
  EXPECT_TRUE(last.units.empty());
}

TEST_F(UnitScanTest, APathThatEndedBeforeARepetitionEndsIt) {
  begin();
  path.answer({.kind = Kind::kBusy});
  path.up = false;
  now += UnitScan::kPause;
  timers.run_due(now);
  ASSERT_EQ(ended, 1u);
  EXPECT_NE(last.problem, "");
}

TEST_F(UnitScanTest, NeedsAPayload) {
  const auto taken = memory->payloads().take();
  ASSERT_TRUE(taken);
  UnitScan other(path, *memory, timers, [](const UnitScan::Outcome&) {});
  EXPECT_FALSE(other.begin(now));
  EXPECT_TRUE(path.held.empty());
}

TEST_F(UnitScanTest, MayBeDestroyedByItsResult) {
  add(0);
  scan = std::make_unique<UnitScan>(path, *memory, timers, [this](const UnitScan::Outcome&) {
    ++ended;
    scan.reset();
  });
  ASSERT_TRUE(scan->begin(now));
  run();
  EXPECT_EQ(ended, 1u);
  EXPECT_EQ(memory->payloads().free(), 1u);
}

}  // namespace
}  // namespace paravane::storage
