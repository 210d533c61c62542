#include "ethernet/merging_ability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ethernet/links.h"
#include "testing/own_network.h"

namespace paravane::ethernet {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

TEST(MergingAbility, FollowsTheRelease) {
  for (const char* release : {"6.1.0-40-amd64", "5.14.0-570.el9.x86_64", "6.1", "6", "", "x.y"}) {
    EXPECT_EQ(merging_of_release(release).merges, Merges::kNothing) << release;
    EXPECT_THAT(merging_of_release(release).lacks, HasSubstr("Linux 6.2")) << release;
  }
  for (const char* release : {"6.2.0-39-generic", "6.8.0-88-generic", "6.9.12"}) {
    EXPECT_EQ(merging_of_release(release).merges, Merges::kIpv6) << release;
    EXPECT_THAT(merging_of_release(release).lacks, HasSubstr("Linux 6.10")) << release;
  }
  for (const char* release : {"6.10.0", "6.12.48+deb13-amd64", "7.3.2+deb13-amd64", "10.0"}) {
    EXPECT_EQ(merging_of_release(release).merges, Merges::kAll) << release;
    EXPECT_EQ(merging_of_release(release).lacks, "") << release;
  }
}

TEST(MergingAbility, IsFoundOutAndLeavesNothingBehind) {
  const OwnNetwork network;
  ASSERT_TRUE(network.made()) << "needs root";
  const auto before = Links::open()->list();
  for (int round = 0; round < 2; ++round) {
    const MergingAbility found = find_merging("paravane:1:");
    EXPECT_EQ(found.lacks.empty(), found.merges == Merges::kAll);
    if (found.merges == Merges::kNothing) {
      EXPECT_THAT(found.lacks, AnyOf(HasSubstr("act_pedit and act_csum, and restart the daemon"),
                                     HasSubstr("Linux 6.2")));
    }
    EXPECT_EQ(Links::open()->list()->size(), before->size());
  }
}

}  // namespace
}  // namespace paravane::ethernet
