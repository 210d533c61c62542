#include "scsi/capacity.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/hex_bytes.h"

namespace paravane::scsi {
namespace {

using fake::hex_bytes;

const std::string kRest16 = " 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00";

TEST(ScsiCapacity, InSixteenBytes) {
  const auto capacity =
      parse_capacity16(hex_bytes("00 00 00 00 00 0f ff ff 00 00 02 00 00 03 c0 00" + kRest16));
  ASSERT_TRUE(capacity) << capacity.error().message;
  EXPECT_EQ(*capacity, (Capacity{.blocks = 0x10'0000,
                                 .block_bytes = 512,
                                 .is_thin = true,
                                 .unmapped_reads_zero = true,
                                 .physical_exponent = 3}));
  EXPECT_EQ(capacity->bytes(), 512u << 20);
  const auto thick =
      parse_capacity16(hex_bytes("00 00 00 00 00 00 00 00 00 00 10 00 00 00 3f ff" + kRest16));
  ASSERT_TRUE(thick);
  EXPECT_EQ(*thick, (Capacity{.blocks = 1, .block_bytes = 4096}));
}

TEST(ScsiCapacity, InTenBytes) {
  const auto capacity = parse_capacity10(hex_bytes("00 00 00 07 00 00 02 00"));
  ASSERT_TRUE(capacity);
  EXPECT_EQ(**capacity, (Capacity{.blocks = 8, .block_bytes = 512}));
  const auto most = parse_capacity10(hex_bytes("ff ff ff fe 00 00 10 00"));
  ASSERT_TRUE(most && *most);
  EXPECT_EQ((*most)->blocks, 0xFFFF'FFFFu);
  const auto more = parse_capacity10(hex_bytes("ff ff ff ff 00 00 02 00"));
  ASSERT_TRUE(more);
  EXPECT_FALSE(*more) << "READ CAPACITY (16) says it";
}

TEST(ScsiCapacity, RefusesWhatIsShort) {
  const auto bytes = hex_bytes("00 00 00 00 00 0f ff ff 00 00 02 00 00 00 00 00" + kRest16);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(parse_capacity16(std::span(bytes).first(size))) << size;
  const auto ten = hex_bytes("00 00 00 07 00 00 02 00");
  for (std::size_t size = 0; size < ten.size(); ++size)
    EXPECT_FALSE(parse_capacity10(std::span(ten).first(size))) << size;
}

TEST(ScsiCapacity, RefusesBlocksThatAreNotServed) {
  for (const std::uint32_t bytes :
       {0u, 1u, 256u, 511u, 513u, 520u, 528u, 4095u, 4104u, 4160u, 8192u, 0xFFFF'FFFFu}) {
    const auto checked = check_capacity(8, bytes);
    ASSERT_FALSE(checked) << bytes;
    EXPECT_EQ(checked.error().code, Errc::kUnsupported);
    EXPECT_NE(checked.error().message.find(std::to_string(bytes)), std::string::npos);
  }
  for (const std::uint32_t bytes : {512u, 1024u, 2048u, 4096u})
    EXPECT_TRUE(check_capacity(8, bytes));
  EXPECT_FALSE(parse_capacity10(hex_bytes("00 00 00 07 00 00 02 08")));
}

TEST(ScsiCapacity, RefusesNoBlocksAndTooMany) {
  EXPECT_FALSE(check_capacity(0, 512));
  EXPECT_FALSE(
      parse_capacity16(hex_bytes("ff ff ff ff ff ff ff ff 00 00 02 00 00 00 00 00" + kRest16)))
      << "what a device of no size says";
  EXPECT_FALSE(check_capacity(std::uint64_t{1} << 54, 512));
  EXPECT_TRUE(check_capacity((std::uint64_t{1} << 54) - 1, 512));
  EXPECT_FALSE(check_capacity(std::uint64_t{1} << 51, 4096));
  EXPECT_TRUE(check_capacity((std::uint64_t{1} << 51) - 1, 4096));
  EXPECT_FALSE(
      parse_capacity16(hex_bytes("7f ff ff ff ff ff ff ff 00 00 02 00 00 00 00 00" + kRest16)));
}

}  // namespace
}  // namespace paravane::scsi
