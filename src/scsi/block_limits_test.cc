#include "scsi/block_limits.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/hex_bytes.h"

namespace paravane::scsi {
namespace {

using fake::hex_bytes;

const std::string kTransfers = "01 01 00 08 00 00 40 00 00 00 20 00";

TEST(ScsiBlockLimits, OfAThinLogicalUnit) {
  const auto limits = parse_block_limits(
      hex_bytes("00 b0 00 3c" + kTransfers +
                "00 00 00 00  00 10 00 00  00 00 00 20  00 00 00 01  80 00 00 00"
                "00 00 00 00 00 00 ff ff"
                "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"));
  ASSERT_TRUE(limits) << limits.error().message;
  EXPECT_EQ(*limits, (BlockLimits{.most_transfer = 0x4000,
                                  .optimal_transfer = 0x2000,
                                  .granularity = 8,
                                  .most_unmap = 0x10'0000,
                                  .most_unmap_ranges = 0x20,
                                  .unmap_granularity = 1,
                                  .most_write_same = 0xFFFF}));
}

TEST(ScsiBlockLimits, MayEndBeforeTheUnmapFields) {
  const BlockLimits expected{.most_transfer = 0x4000, .optimal_transfer = 0x2000, .granularity = 8};
  for (const char* header : {"00 b0 00 0c", "00 b0 00 10"}) {
    const auto limits = parse_block_limits(
        hex_bytes(header + (kTransfers + "00 00 00 00 ff ff ff ff ff ff ff ff")));
    ASSERT_TRUE(limits);
    EXPECT_EQ(*limits, expected) << "bytes after the page are ignored";
  }
  // A field of which a part has come counts as far as it goes: it is said in no standard.
  EXPECT_TRUE(parse_block_limits(hex_bytes("00 b0 00 0e" + kTransfers + "00 00")));
}

TEST(ScsiBlockLimits, RefusesWhatIsShortOrAnotherPage) {
  const auto bytes = hex_bytes("00 b0 00 0c" + kTransfers);
  EXPECT_TRUE(parse_block_limits(bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(parse_block_limits(std::span(bytes).first(size))) << size;
  EXPECT_FALSE(parse_block_limits(hex_bytes("00 b0 00 0b" + kTransfers)));
  EXPECT_FALSE(parse_block_limits(hex_bytes("00 b2 00 0c" + kTransfers)));
}

TEST(ScsiProvisioning, SaysWhichCommandsGiveBlocksBack) {
  const auto thin = parse_provisioning(hex_bytes("00 b2 00 04 00 e4 00 00"));
  ASSERT_TRUE(thin);
  EXPECT_EQ(*thin, (Provisioning{
                       .has_unmap = true, .write_same_unmaps = true, .unmapped_reads_zero = true}));
  const auto unmap = parse_provisioning(hex_bytes("00 b2 00 04 00 80 02 00"));
  ASSERT_TRUE(unmap);
  EXPECT_EQ(*unmap, (Provisioning{.has_unmap = true}));
  EXPECT_EQ(*parse_provisioning(hex_bytes("00 b2 00 04 00 00 01 00")), Provisioning{});
  EXPECT_FALSE(parse_provisioning(hex_bytes("00 b2 00 01 00")));
  EXPECT_FALSE(parse_provisioning(hex_bytes("00 b2 00 04 00 e4")));
}

}  // namespace
}  // namespace paravane::scsi
