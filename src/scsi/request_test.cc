#include "scsi/request.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "scsi/text.h"

namespace paravane::scsi {
namespace {

std::string cdb_text(const Request& request) {
  return hex_text(request.cdb);
}

TEST(ScsiRequests, AreTheBytesOfTheStandards) {
  EXPECT_EQ(cdb_text(test_unit_ready()), "00000000000000000000000000000000");
  EXPECT_EQ(cdb_text(inquiry()), "12000000240000000000000000000000");
  EXPECT_EQ(cdb_text(inquiry_page(0x83)), "12018304000000000000000000000000");
  EXPECT_EQ(cdb_text(report_luns(0x2008)), "a0000000000000002008000000000000");
  EXPECT_EQ(cdb_text(read_capacity10()), "25000000000000000000000000000000");
  EXPECT_EQ(cdb_text(read_capacity16()), "9e100000000000000000000000200000");
  EXPECT_EQ(cdb_text(mode_sense6(0x08)), "1a080800c00000000000000000000000");
  EXPECT_EQ(cdb_text(mode_sense10(0x3F)), "5a083f00000000020000000000000000");
  EXPECT_EQ(cdb_text(synchronize_cache()), "91000000000000000000000000000000");
}

TEST(ScsiRequests, OfBlocksCarryNumbersOf64And32Bits) {
  const BlockRange range{.block = 0x0102'0304'0506'0708, .blocks = 0x0001'0203};
  EXPECT_EQ(cdb_text(read(range, 512)), "88000102030405060708000102030000");
  EXPECT_EQ(cdb_text(write(range, 512, Durability::kCached)), "8a000102030405060708000102030000");
  EXPECT_EQ(cdb_text(write(range, 512, Durability::kOnMedium)), "8a080102030405060708000102030000");
  EXPECT_EQ(cdb_text(write_zeroes(range, 512, Unmapping::kNever)),
            "93000102030405060708000102030000");
  EXPECT_EQ(cdb_text(write_zeroes(range, 512, Unmapping::kAllowed)),
            "93080102030405060708000102030000");
  EXPECT_EQ(cdb_text(synchronize_cache(range)), "91000102030405060708000102030000");
}

TEST(ScsiRequests, SayHowMuchIsMovedAndWhichWay) {
  const BlockRange range{.block = 1, .blocks = 8};
  const auto expect = [](const Request& request, Direction direction, std::uint32_t bytes) {
    EXPECT_EQ(request.direction, direction);
    EXPECT_EQ(request.bytes, bytes);
  };
  expect(test_unit_ready(), Direction::kNone, 0);
  expect(synchronize_cache(range), Direction::kNone, 0);
  expect(inquiry(), Direction::kIn, 36);
  expect(inquiry(0), Direction::kNone, 0);
  expect(read_capacity10(), Direction::kIn, 8);
  expect(read_capacity16(), Direction::kIn, 32);
  expect(read(range, 4096), Direction::kIn, 32768);
  expect(write(range, 512, Durability::kCached), Direction::kOut, 4096);
  expect(write_zeroes(range, 512, Unmapping::kAllowed), Direction::kOut, 512);
  expect(unmap(2), Direction::kOut, 40);
}

TEST(ScsiRequests, UnmapBringsAList) {
  EXPECT_EQ(cdb_text(unmap(2)), "42000000000000002800000000000000");
  const std::vector<BlockRange> ranges{{.block = 0x11, .blocks = 2},
                                       {.block = 0x1'0000'0000, .blocks = 3}};
  std::vector<std::byte> list(unmap_list_bytes(2) + 1, std::byte{0xAA});
  write_unmap_list(ranges, list);
  EXPECT_EQ(hex_text(list),
            "0026002000000000"
            "00000000000000110000000200000000"
            "00000001000000000000000300000000"
            "aa");
  EXPECT_EQ(unmap(kMostUnmapRanges).bytes, 65528u);
}

}  // namespace
}  // namespace paravane::scsi
