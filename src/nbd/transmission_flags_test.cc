#include "nbd/transmission_flags.h"

#include <gtest/gtest.h>

namespace paravane::nbd {
namespace {

TEST(TransmissionFlagsTest, SayWhatTheDeviceCan) {
  EXPECT_EQ(transmission_flags({}, false), 1);
  EXPECT_EQ(transmission_flags({}, true), 1 | 1 << 7);
  EXPECT_EQ(transmission_flags({.has_write_cache = true}, false), 1 | 1 << 2 | 1 << 3);
  EXPECT_EQ(transmission_flags({.is_rotational = true}, false), 1 | 1 << 4);
  EXPECT_EQ(transmission_flags({.can_trim = true}, false), 1 | 1 << 5);
  EXPECT_EQ(transmission_flags({.can_write_zeroes = true}, false), 1 | 1 << 6 | 1 << 11);
  EXPECT_EQ(
      transmission_flags({.is_read_only = true, .can_trim = true, .can_write_zeroes = true}, false),
      1 | 1 << 1);
}

TEST(TransmissionFlagsTest, ThePreferredSizeIsAPowerOfTwoInBetween) {
  const auto preferred = [](std::uint32_t block, std::uint32_t wish, std::uint32_t most) {
    const BlockSizeInformation sizes =
        block_sizes({.block_bytes = block, .preferred_bytes = wish, .most_bytes = most});
    EXPECT_EQ(sizes.least.get(), block);
    EXPECT_EQ(sizes.most.get(), most);
    return sizes.preferred.get();
  };
  EXPECT_EQ(preferred(512, 4096, 65536), 4096U);
  EXPECT_EQ(preferred(4096, 512, 65536), 4096U);
  EXPECT_EQ(preferred(512, 0, 65536), 512U);
  EXPECT_EQ(preferred(512, 100'000, 512 * 100), 32768U);
  EXPECT_EQ(preferred(512, 5000, 65536), 4096U);
}

}  // namespace
}  // namespace paravane::nbd
