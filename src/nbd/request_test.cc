#include "nbd/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::nbd {
namespace {

constexpr Geometry kDisk{.bytes = 1 << 20,
                         .most_bytes = 65536,
                         .has_write_cache = true,
                         .can_trim = true,
                         .can_write_zeroes = true,
                         .are_zeroes_fast = true};
constexpr Agreement kModern{.is_structured = true, .knows_block_sizes = true};

struct JudgedCase {
  Request request;
  ReplyError error;
  bool is_odd;
};

void expect_verdicts(std::span<const JudgedCase> cases, const Geometry& geometry = kDisk,
                     const Agreement& agreement = kModern) {
  for (const auto& [request, error, is_odd] : cases) {
    const Verdict verdict = judge(request, geometry, agreement);
    SCOPED_TRACE(testing::Message()
                 << "command " << static_cast<int>(request.command) << " flags " << request.flags
                 << " offset " << request.offset << " length " << request.length);
    EXPECT_EQ(verdict.error, error);
    EXPECT_EQ(verdict.is_odd, is_odd);
    EXPECT_EQ(verdict.message.empty(), error == ReplyError::kNone);
  }
}

TEST(JudgeTest, LetsThroughWhatIsRight) {
  const JudgedCase cases[] = {
      {{.command = Command::kRead, .length = 512}, ReplyError::kNone, false},
      {{.command = Command::kRead, .offset = (1 << 20) - 512, .length = 512}, {}, false},
      {{.flags = kFlagDf | kFlagFua, .command = Command::kRead, .length = 65536}, {}, false},
      {{.flags = kFlagFua, .command = Command::kWrite, .length = 65536}, {}, false},
      {{.command = Command::kFlush}, {}, false},
      {{.flags = kFlagFua, .command = Command::kFlush}, {}, false},
      {{.flags = kFlagFua, .command = Command::kTrim, .length = 1 << 20}, {}, false},
      {{.flags = kFlagFua | kFlagNoHole | kFlagFastZero,
        .command = Command::kWriteZeroes,
        .length = 1 << 20},
       {},
       false},
  };
  expect_verdicts(cases);
}

TEST(JudgeTest, RefusesWhatIsNotInsideTheDevice) {
  const std::uint64_t end = kDisk.bytes;
  const JudgedCase cases[] = {
      {{.command = Command::kRead, .offset = end, .length = 512}, ReplyError::kInvalid, true},
      {{.command = Command::kRead, .offset = end - 512, .length = 1024},
       ReplyError::kInvalid,
       true},
      {{.command = Command::kRead, .offset = ~0ULL - 511, .length = 512},
       ReplyError::kInvalid,
       true},
      {{.command = Command::kRead, .offset = ~0ULL - 511, .length = 1024},
       ReplyError::kInvalid,
       true},
      {{.command = Command::kWrite, .offset = end, .length = 512}, ReplyError::kNoSpace, true},
      {{.command = Command::kWrite, .offset = 1ULL << 63, .length = 512},
       ReplyError::kNoSpace,
       true},
      {{.command = Command::kWriteZeroes, .offset = end, .length = 512},
       ReplyError::kNoSpace,
       true},
      {{.command = Command::kTrim, .offset = 512, .length = 1 << 20}, ReplyError::kInvalid, true},
      {{.command = Command::kTrim, .length = 0xFFFF'FE00}, ReplyError::kInvalid, true},
  };
  expect_verdicts(cases);
}

TEST(JudgeTest, RefusesLengthsThatTheDeviceDoesNotHave) {
  const JudgedCase cases[] = {
      {{.command = Command::kRead}, ReplyError::kInvalid, true},
      {{.command = Command::kWrite}, ReplyError::kInvalid, true},
      {{.command = Command::kTrim}, ReplyError::kInvalid, true},
      {{.command = Command::kRead, .length = 65536 + 512}, ReplyError::kInvalid, true},
      {{.command = Command::kWrite, .length = 65536 + 512}, ReplyError::kInvalid, true},
      {{.command = Command::kRead, .offset = 1, .length = 512}, ReplyError::kInvalid, true},
      {{.command = Command::kRead, .length = 511}, ReplyError::kInvalid, true},
      {{.command = Command::kTrim, .offset = 512, .length = 513}, ReplyError::kInvalid, true},
      {{.command = Command::kFlush, .offset = 512}, ReplyError::kInvalid, true},
      {{.command = Command::kFlush, .length = 512}, ReplyError::kInvalid, true},
  };
  expect_verdicts(cases);
}

// A client that asked for no block sizes does not know them.
TEST(JudgeTest, BlockSizesAreNotOddForAClientThatWasNotTold) {
  const JudgedCase cases[] = {
      {{.command = Command::kRead, .length = 65536 + 512}, ReplyError::kInvalid, false},
      {{.command = Command::kRead, .offset = 1, .length = 512}, ReplyError::kInvalid, false},
      {{.command = Command::kRead, .offset = 1 << 20, .length = 512}, ReplyError::kInvalid, true},
  };
  expect_verdicts(cases, kDisk, {.is_structured = true});
}

TEST(JudgeTest, RefusesFlagsThatWereNotOffered) {
  constexpr Request kRead{.command = Command::kRead, .length = 512};
  const auto with = [](Request request, std::uint16_t flags) {
    request.flags = flags;
    return request;
  };
  const JudgedCase cases[] = {
      {with(kRead, kFlagNoHole), ReplyError::kInvalid, true},
      {with(kRead, kFlagFastZero), ReplyError::kInvalid, true},
      {with(kRead, 1U << 3), ReplyError::kInvalid, true},
      {with(kRead, 1U << 15), ReplyError::kInvalid, true},
      {{.flags = kFlagDf, .command = Command::kWrite, .length = 512}, ReplyError::kInvalid, true},
      {{.flags = kFlagNoHole, .command = Command::kTrim, .length = 512},
       ReplyError::kInvalid,
       true},
  };
  expect_verdicts(cases);
  const JudgedCase plain[] = {{with(kRead, kFlagDf), ReplyError::kInvalid, true},
                              {kRead, ReplyError::kNone, false}};
  expect_verdicts(plain, kDisk, {});
}

TEST(JudgeTest, RefusesCommandsThatWereNotOffered) {
  const JudgedCase cases[] = {
      {{.command = Command::kCache, .length = 512}, ReplyError::kInvalid, true},
      {{.command = Command::kBlockStatus, .length = 512}, ReplyError::kInvalid, true},
      {{.command = static_cast<Command>(8), .length = 512}, ReplyError::kInvalid, true},
      {{.command = static_cast<Command>(0xFFFF), .length = 512}, ReplyError::kInvalid, true},
  };
  expect_verdicts(cases);
  const JudgedCase poor[] = {
      {{.command = Command::kFlush}, ReplyError::kInvalid, true},
      {{.flags = kFlagFua, .command = Command::kWrite, .length = 512}, ReplyError::kInvalid, true},
      {{.command = Command::kTrim, .length = 512}, ReplyError::kInvalid, true},
      {{.command = Command::kWriteZeroes, .length = 512}, ReplyError::kInvalid, true},
      {{.command = Command::kWrite, .length = 512}, ReplyError::kNone, false},
  };
  expect_verdicts(poor, {.bytes = 1 << 20, .most_bytes = 65536});
}

TEST(JudgeTest, ChangesNothingOfAReadOnlyDevice) {
  const JudgedCase cases[] = {
      {{.command = Command::kRead, .length = 512}, ReplyError::kNone, false},
      {{.command = Command::kWrite, .length = 512}, ReplyError::kNotPermitted, false},
      {{.command = Command::kTrim, .length = 512}, ReplyError::kNotPermitted, false},
      {{.command = Command::kWriteZeroes, .length = 512}, ReplyError::kNotPermitted, false},
  };
  expect_verdicts(cases, {.bytes = 1 << 20, .most_bytes = 65536, .is_read_only = true});
}

TEST(JudgeTest, WritesNoZeroesSlowlyIfTheyAreToBeFast) {
  Geometry slow = kDisk;
  slow.are_zeroes_fast = false;
  const JudgedCase cases[] = {
      {{.flags = kFlagFastZero, .command = Command::kWriteZeroes, .length = 512},
       ReplyError::kNotSupported,
       false},
      {{.command = Command::kWriteZeroes, .length = 512}, ReplyError::kNone, false},
  };
  expect_verdicts(cases, slow);
}

TEST(RequestTest, ReadsAHeader) {
  const Request request = request_of({.flags = Be16(0x0102),
                                      .command = Be16(0x0304),
                                      .handle = Be64(0x05),
                                      .offset = Be64(0x0607),
                                      .length = Be32(0x08)});
  EXPECT_EQ(request.flags, 0x0102);
  EXPECT_EQ(request.command, static_cast<Command>(0x0304));
  EXPECT_EQ(request.handle, 5U);
  EXPECT_EQ(request.offset, 0x0607U);
  EXPECT_EQ(request.length, 8U);
}

TEST(RequestTest, EachResultOfADeviceIsAnError) {
  const std::pair<BlockResult, std::uint32_t> results[] = {
      {BlockResult::kDone, 0},
      {BlockResult::kNotPermitted, 1},
      {BlockResult::kIo, 5},
      {BlockResult::kNoMemory, 12},
      {BlockResult::kInvalid, 22},
      {BlockResult::kNoSpace, 28},
      {BlockResult::kNotSupported, 95},
      {BlockResult::kShutDown, 108},
  };
  for (const auto& [result, error] : results) {
    EXPECT_EQ(static_cast<std::uint32_t>(error_of(result)), error);
    EXPECT_EQ(message_of(result).empty(), error == 0);
  }
}

}  // namespace
}  // namespace paravane::nbd
