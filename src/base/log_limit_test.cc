#include "base/log_limit.h"

#include <gtest/gtest.h>

namespace paravane {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1000s};

TEST(LogLimit, AllowsABurstThenKeepsLinesBackAndSaysHowMany) {
  LogLimit limit(10s, 2);
  EXPECT_EQ(limit.allow(kStart), 0u);
  EXPECT_EQ(limit.allow(kStart), 0u);
  EXPECT_EQ(limit.allow(kStart + 1s), std::nullopt);
  EXPECT_EQ(limit.allow(kStart + 9s), std::nullopt);
  EXPECT_EQ(limit.allow(kStart + 10s), 2u);
  EXPECT_EQ(limit.allow(kStart + 10s), 0u);
}

}  // namespace
}  // namespace paravane
