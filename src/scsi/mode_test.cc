#include "scsi/mode.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/hex_bytes.h"

namespace paravane::scsi {
namespace {

using fake::hex_bytes;

const std::string kCaching = "08 12 04 00 00 00 00 00 00 00 00 00 20 00 00 00 00 00 00 00";
const std::string kControl = "0a 0a 02 10 00 00 00 00 ff ff 00 1e";

TEST(ScsiMode, InSixBytes) {
  const auto mode = parse_mode6(hex_bytes("17 00 90 00" + kCaching));
  ASSERT_TRUE(mode) << mode.error().message;
  EXPECT_EQ(*mode, (ModeParameters{.is_write_protected = true,
                                   .takes_force_unit_access = true,
                                   .has_write_cache = true}));
}

TEST(ScsiMode, InTenBytesBehindABlockDescriptorAndOtherPages) {
  const auto mode = parse_mode10(
      hex_bytes("00 2e 00 10 00 00 00 08 00 00 00 00 00 00 02 00" + kControl + kCaching));
  ASSERT_TRUE(mode) << mode.error().message;
  EXPECT_EQ(*mode, (ModeParameters{.takes_force_unit_access = true, .has_write_cache = true}));
}

TEST(ScsiMode, MaySayNothingOfACache) {
  const auto mode = parse_mode6(hex_bytes("0f 00 00 00" + kControl));
  ASSERT_TRUE(mode);
  EXPECT_EQ(*mode, ModeParameters{});
  EXPECT_EQ(*parse_mode6(hex_bytes("03 00 00 00")), ModeParameters{});
  EXPECT_EQ(parse_mode6(hex_bytes("06 00 00 00 88 01 00"))->has_write_cache, false);
}

TEST(ScsiMode, PassesOverSubpages) {
  const auto mode = parse_mode6(hex_bytes("0d 00 00 00 48 01 00 02 ff ff 08 02 04 00"));
  ASSERT_TRUE(mode) << mode.error().message;
  EXPECT_EQ(mode->has_write_cache, true);
}

TEST(ScsiMode, RefusesLengthsThatReachBeyond) {
  const auto bytes = hex_bytes("17 00 00 00" + kCaching);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(parse_mode6(std::span(bytes).first(size))) << size;
  EXPECT_FALSE(parse_mode6(hex_bytes("03 00 00 08"))) << "block descriptors that are not there";
  EXPECT_FALSE(parse_mode6(hex_bytes("05 00 00 00 08 01"))) << "a page beyond the data";
  EXPECT_FALSE(parse_mode6(hex_bytes("05 00 00 00 08 00"))) << "an empty page";
  EXPECT_FALSE(parse_mode6(hex_bytes("04 00 00 00 08"))) << "half a header";
  EXPECT_FALSE(parse_mode6(hex_bytes("06 00 00 00 48 01 00")));
  EXPECT_FALSE(parse_mode6(hex_bytes("01 00 00 00"))) << "less than its own header";
  EXPECT_FALSE(parse_mode10(hex_bytes("ff ff 00 00 00 00 00 00")));
  EXPECT_FALSE(parse_mode10(hex_bytes("00 06 00 00 00 00 ff ff")));
  EXPECT_FALSE(parse_mode10(hex_bytes("00 06 00 00 00 00 00")));
}

}  // namespace
}  // namespace paravane::scsi
