// Joins, against a real etcd (Debian's etcd-server) on loopback.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/cluster_authority.h"
#include "inventory/keys.h"
#include "inventory/view.h"
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

  authority::Token token_for(const std::string& host) {
    return *authority::parse_token(*keeper_->make_token(host, now_ + std::chrono::hours(1), now_));
  }
  // As a host asks that has a switch and a port group; it is called "machine".
  DoorAnswer compare(const authority::Token& token, std::uint32_t vlan) {
    return keeper_->answer(
        std::nullopt,
        {.kind = DoorRequest::Kind::kCompare,
         .token_id = token.id,
         .secret = token.secret,
         .request = {},
         .documents = {{inventory::switch_document("lan"),
                        inventory::print_switch({.name = "lan", .hosts = {{"machine", "eth1"}}})},
                       {inventory::port_group_document("web"),
                        inventory::print_port_group({.name = "web", .vds = "lan", .vlan = vlan})}}},
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
    EXPECT_EQ(refused.refusal, authority::DoorRefusal::kBusy);
    EXPECT_THAT(log.text(),
                HasSubstr("host h2 cannot join, because the other hosts cannot be informed: etcd "
                          "refused: etcdserver: mvcc: database space exceeded"));
  }
  EXPECT_TRUE(keeper_->others().empty());
  etcd_.set_full(false);
  EXPECT_EQ(join(token).problem, "");
  EXPECT_EQ(keeper_->others(), (std::set<std::string>{"h2"}));
}

TEST_F(ClusterAuthorityJoinTest, WhatDiffersIsNamedAndTheTokenStaysGood) {
  const authority::Token token = token_for("h2");
  const DoorAnswer all = compare(token, 10);
  EXPECT_EQ(all.problem, "");
  EXPECT_THAT(all.other_switches, testing::ElementsAre("lan"));
  EXPECT_THAT(all.other_port_groups, testing::ElementsAre("web"));
  EXPECT_EQ(all.clock_s, now_.time_since_epoch().count()) << "a host with a wrong clock sees it";
  EXPECT_TRUE(all.certificate.empty());
  EXPECT_TRUE(keeper_->others().empty());

  const inventory::EtcdAccess access = etcd_.access();
  inventory::EtcdClient etcd(access, {});
  const std::string config(inventory::kConfigPrefix);
  ASSERT_TRUE(etcd.put(config + inventory::switch_document("lan"),
                       inventory::print_switch({.name = "lan", .hosts = {{"h2", "eth1"}}})));
  ASSERT_TRUE(etcd.put(config + inventory::port_group_document("web"),
                       inventory::print_port_group({.name = "web", .vds = "lan", .vlan = 10})));
  const DoorAnswer some = compare(token, 11);
  EXPECT_TRUE(some.other_switches.empty());
  EXPECT_THAT(some.other_port_groups, testing::ElementsAre("web"));
  const DoorAnswer none = compare(token, 10);
  EXPECT_EQ(none.problem, "");
  EXPECT_TRUE(none.other_switches.empty());
  EXPECT_TRUE(none.other_port_groups.empty());

  EXPECT_EQ(join(token).problem, "");
  EXPECT_EQ(compare(token, 10).problem, "the join token is unknown, used or expired");
}

TEST_F(ClusterAuthorityJoinTest, WithoutATokenNothingIsCompared) {
  authority::Token token = token_for("h2");
  token.secret = std::string(64, '0');
  const DoorAnswer answer = compare(token, 10);
  EXPECT_EQ(answer.problem, "the join token is unknown, used or expired");
  EXPECT_TRUE(answer.other_switches.empty());
}

}  // namespace
}  // namespace paravane::cluster
