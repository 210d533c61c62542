#include "cluster/cluster_refusals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::cluster {
namespace {

using testing::HasSubstr;

TEST(ClusterRefusals, WhoMayTryAgainKeepsItsToken) {
  const auto later = join_refused("192.0.2.1:28249", {.problem = "the authority is busy",
                                                      .refusal = authority::DoorRefusal::kBusy})
                         .error();
  EXPECT_EQ(later.code, model::ApiErrorCode::kClusterAway);
  EXPECT_THAT(later.remedy, HasSubstr("the same token"));
  const auto never =
      join_refused("192.0.2.1:28249", {.problem = "the join token is unknown, used or expired"})
          .error();
  EXPECT_EQ(never.code, model::ApiErrorCode::kDenied);
  EXPECT_THAT(never.remedy, HasSubstr("another token"));
  EXPECT_EQ(never.message,
            "the authority at 192.0.2.1:28249 refused the request: the join token is unknown, used "
            "or expired");
}

TEST(ClusterRefusals, AnEtcdThatStaysAwayMayHaveLostItsData) {
  const std::string problem =
      own_etcd_away("cannot connect to 192.0.2.1:2379", "/var/lib/paravane/cluster/etcd");
  EXPECT_THAT(problem, testing::StartsWith("cannot connect to 192.0.2.1:2379. "));
  EXPECT_THAT(problem, HasSubstr("its data in /var/lib/paravane/cluster/etcd is damaged"));
  EXPECT_THAT(problem, HasSubstr("apt install etcd-server"));
}

}  // namespace
}  // namespace paravane::cluster
