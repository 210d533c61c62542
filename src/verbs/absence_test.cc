#include "verbs/absence.h"

#include <gtest/gtest.h>

namespace paravane::verbs {
namespace {

using std::chrono::milliseconds;

TEST(Absence, LooksLessAndLessOftenAndGivesUpAfterItsPatience) {
  Absence absence;
  const Instant start{std::chrono::hours(1)};
  Instant now = start;
  int looks = 0;
  while (const auto wait = absence.next_look(now)) {
    EXPECT_LE(*wait, milliseconds(64));
    now += *wait;
    ++looks;
  }
  EXPECT_EQ(now - start, Absence::kPatience);
  EXPECT_LT(looks, 30);
}

TEST(Absence, StartsAnewWhenTheMemoryWasThere) {
  Absence absence;
  const Instant start{std::chrono::hours(1)};
  EXPECT_EQ(absence.next_look(start), milliseconds(1));
  EXPECT_EQ(absence.next_look(start + milliseconds(1)), milliseconds(2));
  absence.clear();
  EXPECT_EQ(absence.next_look(start + std::chrono::seconds(5)), milliseconds(1));
}

}  // namespace
}  // namespace paravane::verbs
