// Joins, against a real etcd (Debian's etcd-server) on loopback.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/cluster_authority.h"
#include "testing/etcd_process.h"
#include "testing/log_capture.h"
#include "testing/temp_dir.h"

namespace paravane::cluster {
namespace {

using authority::DoorAnswer;
using authority::DoorRequest;
using testing::HasSubstr;

class ClusterAuthorityJoinTest : public testing::Test {
 protected:
  ClusterAuthorityJoinTest() {
    config_.membership.self = {"00112233445566778899aabbccddeeff", "h1"};
    config_.membership.authority = "h1";
    config_.membership.door = "192.0.2.1:28249";
    config_.membership.etcd = {etcd_.url()};
    EXPECT_TRUE(make_cluster_directory(config_.paths));
    EXPECT_TRUE(ClusterAuthority::make(config_, {.user = {}, .password = {}}, now_));
    keeper_ = std::move(*ClusterAuthority::load(config_));
  }
  DoorAnswer join(const authority::Token& token) {
    return keeper_->answer(std::nullopt,
                           {.kind = DoorRequest::Kind::kJoin,
                            .token_id = token.id,
                            .secret = token.secret,
                            .request = authority::make_request()->certificate},
                           now_);
  }

  const authority::Seconds now_ = authority::wall_clock();
  EtcdProcess etcd_;
  TempDir directory_;
  ClusterAuthority::Config config_{.paths = settings::ClusterPaths(directory_.path()),
                                   .membership = {},
                                   .open = {},
                                   .lifetime_s = 3600,
                                   .address = "192.0.2.1"};
  std::unique_ptr<ClusterAuthority> keeper_;
};

TEST_F(ClusterAuthorityJoinTest, WhoCannotBeToldToTheOthersJoinsLaterWithTheSameToken) {
  const auto token =
      *authority::parse_token(*keeper_->make_token("h2", now_ + std::chrono::hours(1), now_));
  etcd_.set_full(true);
  {
    const LogCapture log;
    const DoorAnswer refused = join(token);
    EXPECT_THAT(refused.problem, testing::EndsWith(authority::kTryAgain));
    EXPECT_THAT(log.text(), HasSubstr("host h2 cannot be let in, the others cannot be told: etcd "
                                      "refused: etcdserver: mvcc: database space exceeded"));
  }
  EXPECT_TRUE(keeper_->others().empty());
  etcd_.set_full(false);
  EXPECT_EQ(join(token).problem, "");
  EXPECT_EQ(keeper_->others(), (std::set<std::string>{"h2"}));
}

}  // namespace
}  // namespace paravane::cluster
