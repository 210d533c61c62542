#include "verbs/ack_timing.h"

#include <gtest/gtest.h>

namespace paravane::verbs {
namespace {

using std::chrono::microseconds;

TEST(AckTiming, RnrWaitsAreThoseOfTheStandardsTable) {
  EXPECT_EQ(rnr_wait(0), microseconds(655'360));
  EXPECT_EQ(rnr_wait(1), microseconds(10));
  EXPECT_EQ(rnr_wait(12), microseconds(640));
  EXPECT_EQ(rnr_wait(14), microseconds(1280));
  EXPECT_EQ(rnr_wait(31), microseconds(491'520));
}

TEST(AckTiming, RnrWaitsGrowFromOneTo31) {
  for (std::uint8_t code = 2; code < 32; ++code) EXPECT_GT(rnr_wait(code), rnr_wait(code - 1));
  EXPECT_GT(rnr_wait(0), rnr_wait(31));
}

TEST(AckTiming, AckTimeoutDoubles) {
  EXPECT_EQ(ack_timeout(0), Duration::zero());
  EXPECT_EQ(ack_timeout(1), std::chrono::nanoseconds(8192));
  EXPECT_EQ(ack_timeout(14), std::chrono::nanoseconds(67'108'864));
  EXPECT_EQ(ack_timeout(31), std::chrono::nanoseconds(std::int64_t{4096} << 31));
}

}  // namespace
}  // namespace paravane::verbs
