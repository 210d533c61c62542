#include "ethernet/uplink_team.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace paravane::ethernet {
namespace {

constexpr TeamCandidate kGone{};
constexpr TeamCandidate kDark{.is_usable = true};
constexpr TeamCandidate kLinked{.is_usable = true, .has_link = true};
constexpr TeamCandidate kCarrying{.is_usable = true, .has_link = true, .carries_now = true};
constexpr TeamCandidate kCut{.is_usable = true, .carries_now = true};

std::optional<std::size_t> choice(const std::vector<TeamCandidate>& team) {
  return choose_uplink(team);
}

TEST(ChooseUplinkTest, TakesTheFirstWithALink) {
  EXPECT_EQ(choice({kCarrying, kLinked}), 0u);
  EXPECT_EQ(choice({kCut, kLinked}), 1u);
  EXPECT_EQ(choice({kCut, kDark, kLinked}), 2u);
  EXPECT_EQ(choice({kGone, kDark, kLinked}), 2u);
}

TEST(ChooseUplinkTest, GoesBackAsSoonAsAnEarlierOneHasALink) {
  EXPECT_EQ(choice({kLinked, kCarrying}), 0u);
  EXPECT_EQ(choice({kDark, kLinked, kCarrying}), 1u);
}

TEST(ChooseUplinkTest, StaysWhereItIsIfNoneHasALink) {
  EXPECT_EQ(choice({kDark, kCut}), 1u);
  EXPECT_EQ(choice({kCut, kDark}), 0u);
  EXPECT_EQ(choice({kGone, kDark}), 1u);
  EXPECT_EQ(choice({kDark, kDark}), 0u);
}

// One that another program has may have a link all the same.
TEST(ChooseUplinkTest, NeverTakesOneThatIsNotUsable) {
  constexpr TeamCandidate kForeign{.is_usable = false, .has_link = true, .carries_now = true};
  EXPECT_EQ(choice({kForeign, kDark}), 1u);
  EXPECT_EQ(choice({kForeign, kGone}), std::nullopt);
  EXPECT_EQ(choice({}), std::nullopt);
}

}  // namespace
}  // namespace paravane::ethernet
