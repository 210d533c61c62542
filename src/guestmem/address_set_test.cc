#include "guestmem/address_set.h"

#include <gtest/gtest.h>

#include <limits>

namespace paravane {
namespace {

constexpr std::uint64_t kTop = std::numeric_limits<std::uint64_t>::max();

TEST(AddressSet, ContainsBothEndsAndNothingBeyond) {
  AddressSet set;
  set.add(10, 19);
  EXPECT_FALSE(set.contains(9));
  EXPECT_TRUE(set.contains(10));
  EXPECT_TRUE(set.contains(19));
  EXPECT_FALSE(set.contains(20));
}

TEST(AddressSet, MergesWhatTouchesOrOverlaps) {
  AddressSet set;
  set.add(10, 19);
  set.add(30, 39);
  set.add(20, 24);
  EXPECT_EQ(set.interval_count(), 2u);
  set.add(5, 35);
  EXPECT_EQ(set.interval_count(), 1u);
  EXPECT_TRUE(set.contains(39));
  EXPECT_TRUE(set.contains(5));
}

TEST(AddressSet, RemovingTheMiddleLeavesBothSides) {
  AddressSet set;
  set.add(10, 39);
  set.remove(20, 29);
  EXPECT_TRUE(set.contains(19));
  EXPECT_FALSE(set.contains(20));
  EXPECT_FALSE(set.contains(29));
  EXPECT_TRUE(set.contains(30));
}

TEST(AddressSet, RemovingMoreThanThereIsLeavesNothing) {
  AddressSet set;
  set.add(10, 19);
  set.add(30, 39);
  set.remove(0, kTop);
  EXPECT_TRUE(set.empty());
}

TEST(AddressSet, BothEndsOfTheAddressSpaceCanBeNamed) {
  AddressSet set;
  set.add(kTop - 4095, kTop);
  set.add(0, 4095);
  EXPECT_EQ(set.interval_count(), 2u);
  EXPECT_TRUE(set.contains(0));
  EXPECT_TRUE(set.contains(kTop));
  set.add(4096, kTop - 4096);
  EXPECT_EQ(set.interval_count(), 1u);
  set.remove(0, kTop);
  EXPECT_TRUE(set.empty());
}

TEST(AddressSet, ForgetsRatherThanGrowsWithoutBound) {
  AddressSet set;
  for (std::uint64_t i = 0; i < 3 * AddressSet::kMaxIntervals; ++i) set.add(2 * i * 10, 2 * i * 10);
  EXPECT_LE(set.interval_count(), AddressSet::kMaxIntervals);
  EXPECT_TRUE(set.contains((6 * AddressSet::kMaxIntervals - 2) * 10));
}

}  // namespace
}  // namespace paravane
