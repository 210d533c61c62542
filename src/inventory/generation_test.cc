#include "inventory/generation.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace paravane::inventory {
namespace {

using testing::HasSubstr;

std::string mark(int i) {
  return fmt::format("{:016x}", i);
}

Generation after(int changes) {
  Generation generation;
  for (int i = 1; i <= changes; ++i) generation = next_generation(std::move(generation), mark(i));
  return generation;
}

SeenGeneration seen(int changes) {
  return {.number = static_cast<std::uint64_t>(changes), .mark = mark(changes), .revision = 100};
}

TEST(Generation, OfAHostThatHasSeenNothingAnyIsFollowed) {
  EXPECT_TRUE(continues({}, {}));
  EXPECT_TRUE(continues(after(3), {}));
}

TEST(Generation, ItselfAndWhatItBecameContinueIt) {
  EXPECT_TRUE(continues(after(3), seen(3)));
  EXPECT_TRUE(continues(after(4), seen(3)));
  EXPECT_TRUE(continues(after(200), seen(1)));
}

TEST(Generation, AnOlderOneDoesNot) {
  EXPECT_FALSE(continues(after(2), seen(3)));
  EXPECT_FALSE(continues({}, seen(1)));
  const std::string why = why_not_continued(after(2), 70, seen(3));
  EXPECT_THAT(why, HasSubstr("older"));
  EXPECT_THAT(why, HasSubstr("generation 2 at revision 70"));
  EXPECT_THAT(why, HasSubstr("generation 3 at revision 100"));
}

// An older copy that was changed since: its number is higher again.
TEST(Generation, AnotherHistoryDoesNot) {
  Generation other = after(2);
  for (int i = 100; i < 110; ++i) other = next_generation(std::move(other), mark(i));
  EXPECT_FALSE(continues(other, seen(3)));
  EXPECT_TRUE(continues(other, seen(2)));
  Generation same_number = next_generation(after(2), mark(100));
  EXPECT_FALSE(continues(same_number, seen(3)));
  EXPECT_THAT(why_not_continued(other, 70, seen(3)), HasSubstr("a different history"));
}

TEST(Generation, KeepsMarksForAWhileAndThenTheNumberCounts) {
  const int most = static_cast<int>(Generation::kMostMarks);
  EXPECT_EQ(after(most + 10).marks.size(), Generation::kMostMarks);
  EXPECT_TRUE(continues(after(most + 10), seen(11)));
  SeenGeneration other = seen(11);
  other.mark = mark(9999);
  EXPECT_FALSE(continues(after(most + 10), other));
  other.number = 10;
  EXPECT_TRUE(continues(after(most + 10), other));
}

TEST(Generation, AnOperatorMayTakeAnOlderOneAsTheNewest) {
  const Generation accepted = accepted_generation(after(2), mark(500));
  EXPECT_TRUE(continues(accepted, seen(3)));
  EXPECT_TRUE(continues(next_generation(accepted, mark(501)), seen(1000)));
  EXPECT_FALSE(continues(after(5), {.number = accepted.number, .mark = mark(500)}));
  Generation other = next_generation(accepted, mark(700));
  EXPECT_FALSE(continues(other, {.number = other.number, .mark = mark(701)}));
}

TEST(Generation, IsReadAsItIsPrinted) {
  for (const Generation& generation :
       {after(1), after(300), accepted_generation(after(7), mark(1))}) {
    const auto read = parse_generation(print_generation(generation));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, generation);
  }
}

TEST(Generation, WhatIsNoneIsRefused) {
  const auto good = print_generation(after(3));
  ASSERT_TRUE(parse_generation(good));
  const auto with = [&good](const char* key, const nlohmann::json& value) {
    nlohmann::json changed = good;
    changed[key] = value;
    return parse_generation(changed).has_value();
  };
  EXPECT_FALSE(parse_generation(nlohmann::json::array()));
  EXPECT_FALSE(with("number", 0));
  EXPECT_FALSE(with("number", 2)) << "less than there are marks";
  EXPECT_FALSE(with("number", "3"));
  EXPECT_FALSE(with("number", std::uint64_t{1} << 60));
  EXPECT_FALSE(with("supersedes", 3));
  EXPECT_FALSE(with("marks", nlohmann::json::array()));
  EXPECT_FALSE(with("marks", nlohmann::json::array({"short"})));
  EXPECT_FALSE(with("marks", nlohmann::json::array({1})));
  EXPECT_FALSE(with("marks", nlohmann::json(std::vector<std::string>(257, mark(1)))));
  EXPECT_TRUE(with("later", 1)) << "keys of a newer version";
}

}  // namespace
}  // namespace paravane::inventory
