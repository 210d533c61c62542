#include "connection/scrambled_numbers.h"

#include <gtest/gtest.h>

#include <set>

#include "connection/answer_allowance.h"

namespace paravane::connection {
namespace {

TEST(ScrambledNumbersTest, NumbersDoNotRepeat) {
  ScrambledNumbers numbers(1);
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 200'000; ++i) {
    const std::uint32_t number = numbers.next();
    ASSERT_NE(number, 0u);
    ASSERT_TRUE(seen.insert(number).second) << i;
  }
}

TEST(ScrambledNumbersTest, NumbersDoNotFollowEachOther) {
  ScrambledNumbers numbers(1);
  std::set<std::uint32_t> steps;
  std::uint32_t before = numbers.next();
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t number = numbers.next();
    steps.insert(number - before);
    before = number;
  }
  EXPECT_GT(steps.size(), 990u);
}

TEST(ScrambledNumbersTest, AnotherSeedHasOtherNumbers) {
  ScrambledNumbers one(1);
  ScrambledNumbers other(2);
  unsigned equal = 0;
  for (int i = 0; i < 1000; ++i) {
    if (one.next() == other.next()) ++equal;
    EXPECT_NE(one.next_transaction(), other.next_transaction());
  }
  EXPECT_LE(equal, 1u);
}

TEST(AnswerAllowanceTest, SoManyInASecond) {
  AnswerAllowance allowance(2);
  const Instant now{std::chrono::hours(1)};
  EXPECT_TRUE(allowance.take(now));
  EXPECT_TRUE(allowance.take(now));
  EXPECT_FALSE(allowance.take(now + std::chrono::milliseconds(999)));
  EXPECT_TRUE(allowance.take(now + std::chrono::seconds(1)));
}

}  // namespace
}  // namespace paravane::connection
