#include "sniff/numbering.h"

#include <gtest/gtest.h>

namespace paravane::sniff {
namespace {

TEST(NumberingTest, CountsPacketsAndWraps) {
  Numbering numbering(0xFFFFFE);
  EXPECT_EQ(numbering.first_of(1, 1).value(), 0xFFFFFEu);
  EXPECT_EQ(numbering.first_of(2, 3).value(), 0xFFFFFFu);
  EXPECT_EQ(numbering.first_of(3, 1).value(), 2u);
}

TEST(NumberingTest, OfARequestThatComesAgainAreTheSame) {
  Numbering numbering(10);
  EXPECT_EQ(numbering.first_of(1, 2).value(), 10u);
  EXPECT_EQ(numbering.first_of(2, 2).value(), 12u);
  EXPECT_EQ(numbering.first_of(1, 2).value(), 10u);
  EXPECT_EQ(numbering.first_of(3, 1).value(), 14u);
}

TEST(NumberingTest, ForgetsTheOldest) {
  Numbering numbering(0);
  for (std::uint64_t serial = 1; serial <= 129; ++serial) {
    EXPECT_EQ(numbering.first_of(serial, 1).value(), serial - 1);
  }
  EXPECT_EQ(numbering.first_of(2, 1).value(), 1u);
  EXPECT_EQ(numbering.first_of(1, 1).value(), 129u);
}

TEST(NumberingTest, CountsEachMessageOnce) {
  Numbering numbering(0);
  EXPECT_EQ(numbering.count_done(5), 1u);
  EXPECT_EQ(numbering.count_done(6), 2u);
  EXPECT_EQ(numbering.count_done(5), 2u);
  EXPECT_EQ(numbering.done(), 2u);
}

TEST(NumberingTest, AMessageHasAtLeastOnePacket) {
  EXPECT_EQ(packets_of(0, 1024), 1u);
  EXPECT_EQ(packets_of(1024, 1024), 1u);
  EXPECT_EQ(packets_of(1025, 1024), 2u);
  EXPECT_EQ(packets_of(~std::uint64_t{0}, 256), 1u << 23);
  EXPECT_EQ(mtu_bytes(1), 256u);
  EXPECT_EQ(mtu_bytes(5), 4096u);
  EXPECT_EQ(mtu_bytes(0), 256u);
  EXPECT_EQ(mtu_bytes(77), 4096u);
}

}  // namespace
}  // namespace paravane::sniff
