#include "verbs/path_use.h"

#include <gtest/gtest.h>

namespace paravane::verbs {
namespace {

using Way = PathUse::Way;

TEST(PathUse, CountsConnectionsByTheirWay) {
  PathUse use;
  const Way here{};
  const Way there{.host = HostId{2}};
  use.move(std::nullopt, here);
  use.move(std::nullopt, here);
  use.move(here, there);
  EXPECT_EQ(use.counts(), (std::map<Way, std::uint32_t>{{here, 1}, {there, 1}}));
  EXPECT_EQ(use.changes(), 3u);
}

TEST(PathUse, AWayThatNobodyTakesIsGone) {
  PathUse use;
  const Way here{};
  use.move(std::nullopt, here);
  use.move(here, std::nullopt);
  EXPECT_TRUE(use.counts().empty());
}

TEST(PathUse, RemembersWhichConnectionLostAWayUntilItIsTakenAgain) {
  PathUse use;
  const PathUse::Ends ends{.source = Gid{{1}}, .peer = Gid{{2}}, .type = GidType::kRoceV2};
  use.move(std::nullopt, Way{});
  use.lose(Way{}, ends);
  EXPECT_TRUE(use.counts().empty());
  EXPECT_EQ(use.losses(), (std::map<Way, PathUse::Ends>{{Way{}, ends}}));
  use.move(std::nullopt, Way{});
  EXPECT_TRUE(use.losses().empty());
}

TEST(PathUse, WhatTheLastToLeaveDidCounts) {
  PathUse use;
  const PathUse::Ends ends{.source = Gid{{1}}, .peer = Gid{{2}}, .type = GidType::kRoceV2};
  use.move(std::nullopt, Way{});
  use.move(std::nullopt, Way{});
  use.lose(Way{}, ends);
  EXPECT_EQ(use.losses().size(), 1u);
  use.move(Way{}, std::nullopt);  // it ended
  EXPECT_TRUE(use.losses().empty());
}

TEST(PathUse, TheSameWayAgainIsNoChange) {
  PathUse use;
  use.move(std::nullopt, Way{});
  use.move(Way{}, Way{});
  use.move(std::nullopt, std::nullopt);
  EXPECT_EQ(use.changes(), 1u);
}

}  // namespace
}  // namespace paravane::verbs
