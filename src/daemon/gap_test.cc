#include "daemon/gap.h"

#include <gtest/gtest.h>

#include <limits>

namespace paravane::daemon {
namespace {

using std::chrono::microseconds;

Gap some_gap() {
  const Instant frozen{std::chrono::hours(3)};
  return {.frozen = frozen,
          .first = frozen + microseconds(400),
          .all = frozen + microseconds(1'500),
          .taken = frozen + microseconds(9'000),
          .go = frozen + microseconds(29'000),
          .begun = frozen + microseconds(30'100),
          .state_bytes = 4711};
}

TEST(Gap, ItsPartsAddUpToTheWhole) {
  auto fields = some_gap().fields();
  EXPECT_EQ(fields["gap_ms"], "30");
  EXPECT_EQ(fields["saving_us"], "400");
  EXPECT_EQ(fields["passing_us"], "1100");
  EXPECT_EQ(fields["loading_us"], "7500");
  EXPECT_EQ(fields["ending_us"], "20000");
  EXPECT_EQ(fields["beginning_us"], "1100");
  EXPECT_EQ(fields["state_bytes"], "4711");
}

// Another engine says when it was.
TEST(Gap, ATimeThatCannotBeIsNoGap) {
  Gap gap = some_gap();
  for (const std::int64_t at :
       {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max()}) {
    gap.frozen = Instant(std::chrono::nanoseconds(at));
    EXPECT_EQ(gap.length(), Duration{}) << at;
    EXPECT_EQ(gap.fields()["saving_us"], "0") << at;
  }
}

}  // namespace
}  // namespace paravane::daemon
