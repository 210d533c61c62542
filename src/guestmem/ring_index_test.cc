#include "guestmem/ring_index.h"

#include <gtest/gtest.h>

#include <set>

namespace paravane {
namespace {

TEST(RingIndex, PowersOfTwoUseEverySlot) {
  for (std::uint32_t n = 1; n <= 65536; n *= 2) {
    const RingIndex index(n);
    EXPECT_EQ(index.depth(), n);
    EXPECT_EQ(index.period(), 2 * n);
  }
}

// The sizes that Linux makes: 3 pages of 4-byte and of 8-byte elements.
TEST(RingIndex, DeviceRingsUseOnlyTheirFirstPage) {
  const RingIndex notifications(3072);
  EXPECT_EQ(notifications.depth(), 1024u);
  EXPECT_EQ(notifications.period(), 2048u);
  const RingIndex events(1536);
  EXPECT_EQ(events.depth(), 512u);
  EXPECT_EQ(events.period(), 1024u);
}

TEST(RingIndex, DepthAndPeriodAreWhatCountingWithNextShows) {
  for (const std::uint32_t n : {1u, 2u, 8u, 512u, 1024u, 1536u, 3072u, 512u * 7, 1024u * 7}) {
    const RingIndex index(n);
    std::set<std::uint32_t> slots;
    std::uint32_t steps = 0;
    std::uint32_t at = 0;
    do {
      EXPECT_TRUE(index.valid(at));
      EXPECT_TRUE(index.reachable(at));
      EXPECT_LT(index.slot(at), n);
      slots.insert(index.slot(at));
      at = index.next(at);
      ++steps;
    } while (at != 0);
    EXPECT_EQ(steps, index.period()) << n;
    EXPECT_EQ(slots.size(), index.depth()) << n;
  }
}

TEST(RingIndex, UsedCountsAcrossTheWrap) {
  const RingIndex index(4);
  EXPECT_EQ(index.used(3, 3), 0u);
  EXPECT_EQ(index.used(1, 7), 2u);
  EXPECT_EQ(index.used(4, 0), 4u);
  EXPECT_EQ(index.used(0, 4), 4u);
  EXPECT_EQ(index.used(6, 0), 6u);  // more than depth: impossible
}

TEST(RingIndex, ImpossibleIndicesAreNotValid) {
  EXPECT_FALSE(RingIndex(4).valid(8));
  EXPECT_FALSE(RingIndex(4).valid(0xFFFFFFFF));
  EXPECT_FALSE(RingIndex(1).valid(2));
  // The driver's mask lets this one pass, but nobody ever counts there.
  EXPECT_TRUE(RingIndex(3072).valid(0x1000));
  EXPECT_FALSE(RingIndex(3072).reachable(0x1000));
}

TEST(RingIndex, LargestRingDoesNotOverflow) {
  const RingIndex index(1u << 30);
  EXPECT_EQ(index.depth(), 1u << 30);
  EXPECT_EQ(index.period(), 1u << 31);
  EXPECT_EQ(index.next((1u << 31) - 1), 0u);
}

}  // namespace
}  // namespace paravane
