#include "cluster/followed_generations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace paravane::cluster {
namespace {

using authority::DoorAnswer;
using model::FollowedGeneration;
using testing::HasSubstr;

constexpr std::uint64_t kOwnGeneration = 18;
constexpr std::uint64_t kMostOfAll = std::numeric_limits<std::uint64_t>::max();

// Of h2, with what it says at its door and what the inventory shows of it; 0: nothing.
FollowedGeneration weigh_one(const Result<DoorAnswer>& answer, std::uint64_t shown = 0) {
  std::map<std::string, inventory::Host> hosts;
  hosts["h2"].info =
      inventory::HostInfo{.address = "192.0.2.2", .version = "", .generation = shown};
  const auto all = followed_generations(
      kOwnGeneration, {"h2"}, {{.host = "h2", .door = "192.0.2.2:28249"}}, {answer}, hosts);
  EXPECT_EQ(all.size(), 1U);
  return all.front();
}

FollowedGeneration weigh_number(std::uint64_t number) {
  return weigh_one(DoorAnswer{.host = "h2", .generation = number});
}

TEST(FollowedGenerations, TheNewestThatAHostSaysCounts) {
  const std::vector<HostDoor> doors = {{.host = "h4", .door = "192.0.2.4:28249"},
                                       {.host = "h9", .door = "192.0.2.9:28249"},
                                       {.host = "h2", .door = "192.0.2.2:28249"}};
  const std::vector<Result<DoorAnswer>> answers = {DoorAnswer{.host = "h4", .generation = 17},
                                                   DoorAnswer{.host = "h9", .generation = 99},
                                                   DoorAnswer{.host = "h2", .generation = 21}};
  const auto all = followed_generations(kOwnGeneration, {"h2", "h3", "h4"}, doors, answers, {});
  ASSERT_EQ(all.size(), 3U) << "h9 is no member";
  EXPECT_EQ(all[0].host, "h2");
  EXPECT_EQ(all[0].generation, 21);
  EXPECT_TRUE(all[0].counts);
  EXPECT_EQ(all[0].problem, "");
  EXPECT_FALSE(all[1].counts);
  EXPECT_THAT(all[1].problem, HasSubstr("was not asked"));
  EXPECT_EQ(all[2].generation, 17);
  EXPECT_EQ(newest_that_counts(all), 21U);
  EXPECT_EQ(newest_that_counts({}), 0U);
}

TEST(FollowedGenerations, ANumberThatNoClusterComesToDoesNotCount) {
  EXPECT_TRUE(weigh_number(0).counts);
  EXPECT_TRUE(weigh_number(kOwnGeneration + kMostAhead).counts);
  for (const std::uint64_t number : {kOwnGeneration + kMostAhead + 1, kMostOfAll}) {
    const FollowedGeneration odd = weigh_number(number);
    EXPECT_EQ(odd.generation, number) << "it is shown";
    EXPECT_FALSE(odd.counts);
    EXPECT_THAT(odd.problem, HasSubstr("higher than is possible"));
    EXPECT_EQ(newest_that_counts({odd}), 0U);
    EXPECT_FALSE(weigh_one(fail(Errc::kIo, "timed out"), number).counts) << "by the inventory";
  }
}

TEST(FollowedGenerations, OfAHostWhoseDoorSaysNothingTheInventoryMay) {
  const FollowedGeneration silent = weigh_one(fail(Errc::kIo, "timed out"));
  EXPECT_FALSE(silent.generation);
  EXPECT_FALSE(silent.counts);
  EXPECT_THAT(silent.problem, HasSubstr("timed out"));
  EXPECT_THAT(weigh_one(DoorAnswer{.host = "h2"}).problem, HasSubstr("release"));
  for (const Result<DoorAnswer>& answer :
       {Result<DoorAnswer>(fail(Errc::kIo, "timed out")), Result<DoorAnswer>(DoorAnswer{})}) {
    const FollowedGeneration shown = weigh_one(answer, 20);
    EXPECT_EQ(shown.generation, 20);
    EXPECT_TRUE(shown.counts);
    EXPECT_EQ(shown.problem, "");
  }
  EXPECT_EQ(weigh_one(DoorAnswer{.generation = 22}, 20).generation, 22);
}

}  // namespace
}  // namespace paravane::cluster
