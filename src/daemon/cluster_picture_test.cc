#include "daemon/cluster_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::daemon {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

ClusterPicture picture_with(std::size_t lost, std::size_t oversized) {
  auto view = std::make_shared<inventory::View>();
  for (std::size_t i = 0; i < lost; ++i) {
    view->lost.push_back({.host = "h2", .key = "gids/" + std::to_string(i), .reason = "taken"});
  }
  for (std::size_t i = 0; i < oversized; ++i) {
    view->oversized_hosts.push_back("h" + std::to_string(i));
  }
  ClusterPicture picture;
  picture.self = authority::Identity{"00112233445566778899aabbccddeeff", "h1"};
  picture.view = std::move(view);
  return picture;
}

TEST(ClusterPicture, NamesWhatDoesNotCount) {
  const auto status = describe(picture_with(2, 1), Config());
  EXPECT_THAT(status.lost,
              testing::ElementsAre("all of host h0: it has too many keys",
                                   "gids/0 of host h2: taken", "gids/1 of host h2: taken"));
}

// One host can make many thousand of them.
TEST(ClusterPicture, NamesSoManyClaimsAndSaysHowManyMoreThereAre) {
  EXPECT_THAT(describe(picture_with(100, 0), Config()).lost, SizeIs(100));
  const auto status = describe(picture_with(16'000, 2), Config());
  ASSERT_THAT(status.lost, SizeIs(103));
  EXPECT_EQ(status.lost[0], "all of host h0: it has too many keys");
  EXPECT_THAT(status.lost[101], HasSubstr("gids/99 of host h2"));
  EXPECT_EQ(status.lost[102], "15900 more claims");
}

}  // namespace
}  // namespace paravane::daemon
