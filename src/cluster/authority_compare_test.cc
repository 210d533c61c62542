// The authority's book against a real etcd (Debian's etcd-server) on loopback that was put back
// from a copy.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "authority/succession.h"
#include "cluster/cluster_authority.h"
#include "cluster/cluster_files.h"
#include "inventory/users.h"
#include "testing/etcd_process.h"
#include "testing/temp_dir.h"

namespace paravane::cluster {
namespace {

using authority::DoorRequest;
using inventory::EtcdClient;
using inventory::SeenGeneration;
using inventory::View;
using testing::HasSubstr;

class AuthorityCompareTest : public testing::Test {
 protected:
  AuthorityCompareTest() {
    config_.membership.self = {"00112233445566778899aabbccddeeff", "h1"};
    config_.membership.authority = "h1";
    config_.membership.door = "192.0.2.1:28249";
    config_.membership.runs_etcd = true;
    config_.membership.etcd = {etcd_.url()};
    config_.membership.etcd_user = inventory::host_user("h1");
    config_.membership.etcd_password = "password-of-h1";
    config_.write_documents = [this](std::vector<inventory::Write> documents) -> Status {
      for (inventory::Write& write : documents) write.key.insert(0, inventory::kConfigPrefix);
      return is_away_ ? fail(Errc::kIo, "etcd is away") : root().write_all(documents);
    };
  }
  void SetUp() override {
    EtcdClient anybody(nobody_, plainly_);
    ASSERT_TRUE(inventory::close_etcd(anybody, "secret"));
    ASSERT_TRUE(
        root().create(std::string(inventory::kConfigPrefix) + "cluster",
                      inventory::print_cluster("00112233445566778899aabbccddeeff", "h1", {})));
    ASSERT_TRUE(inventory::admit_host(root(), "h1", "password-of-h1", true));
    ASSERT_TRUE(make_cluster_directory(config_.paths));
    ASSERT_TRUE(ClusterAuthority::make(config_, {.user = "root", .password = "secret"}, now_));
    load();
    ASSERT_TRUE(keeper_->compare(network_));
    ASSERT_TRUE(keeper_->settle(view()));
  }
  void load() {
    auto loaded = ClusterAuthority::load(config_);
    ASSERT_TRUE(loaded) << loaded.error().message;
    keeper_ = std::move(*loaded);
  }
  EtcdClient& root() {
    root_.emplace(as_root_, plainly_);  // logs in anew
    return *root_;
  }
  View view() {
    inventory::Records records;
    const auto read =
        root().for_each(std::string(inventory::kRoot),
                        [&](inventory::KeyValue&& pair) { return records.put(std::move(pair)); });
    EXPECT_TRUE(read);
    return read ? *records.build(*read) : View();
  }
  SeenGeneration seen() {
    const View now = view();
    return {.number = now.generation.number,
            .mark = std::string(now.generation.mark()),
            .revision = now.revision};
  }
  // An operator's change: in etcd, and then kept by the host.
  void create_port_group(const std::string& name) {
    network_.switches["lan"] = {.name = "lan"};
    network_.port_groups[name] = {.name = name, .vds = "lan", .vlan = 10};
    ASSERT_TRUE(keeper_->write_documents(
        {{.key = inventory::switch_document("lan"),
          .value = inventory::print_switch(network_.switches.at("lan"))},
         {.key = inventory::port_group_document(name),
          .value = inventory::print_port_group(network_.port_groups.at(name))}}));
  }
  authority::Peer join(const std::string& host) {
    const auto token =
        *authority::parse_token(*keeper_->make_token(host, now_ + std::chrono::hours(1), now_));
    const auto answer = keeper_->answer(std::nullopt,
                                        {.kind = DoorRequest::Kind::kJoin,
                                         .token_id = token.id,
                                         .secret = token.secret,
                                         .request = authority::make_request()->certificate},
                                        now_);
    EXPECT_EQ(answer.problem, "");
    password_ = answer.etcd_password;
    return {.identity = {config_.membership.self.cluster, host},
            .key = authority::inspect(answer.certificate)->key};
  }
  bool lets_in(const std::string& host, const std::string& password) {
    const inventory::EtcdAccess access = etcd_.access(inventory::host_user(host), password);
    EtcdClient client(access, plainly_);
    return client.token().has_value() && client.grant_lease(std::chrono::seconds(5)).has_value();
  }
  authority::DoorAnswer ask_for_password(const authority::Peer& peer, authority::Seconds at) {
    return keeper_->answer(
        peer, {.kind = DoorRequest::Kind::kLogin, .token_id = {}, .secret = {}, .request = {}}, at);
  }

  const authority::Seconds now_ = authority::wall_clock();
  inventory::OpenSocket plainly_;
  EtcdProcess etcd_;
  inventory::EtcdAccess nobody_ = etcd_.access();
  inventory::EtcdAccess as_root_ = etcd_.access("root", "secret");
  std::optional<EtcdClient> root_;
  TempDir directory_;
  model::Network network_;
  std::string password_;  // of the host that has joined last
  bool is_away_ = false;
  ClusterAuthority::Config config_{.paths = settings::ClusterPaths(directory_.path()),
                                   .membership = {},
                                   .open = {},
                                   .lifetime_s = 3600,
                                   .address = "192.0.2.1"};
  std::unique_ptr<ClusterAuthority> keeper_;
};

TEST_F(AuthorityCompareTest, EachChangeIsCountedInTheBookAndInEtcd) {
  EXPECT_EQ(seen().number, 2U) << "what did not count, and then this host's own record";
  create_port_group("old");
  EXPECT_EQ(seen().number, 3U);
  join("h2");
  EXPECT_EQ(seen().number, 4U);
  ASSERT_TRUE(keeper_->remove("h2"));
  EXPECT_EQ(seen().number, 5U);
  load();
  ASSERT_TRUE(keeper_->compare(network_));
  EXPECT_EQ(seen().number, 5U) << "nothing differs, nothing is written";
}

TEST_F(AuthorityCompareTest, AnOlderEtcdIsMadeToSayWhatTheBookDoes) {
  create_port_group("old");
  join("h2");
  const std::string old_password = password_;
  ASSERT_TRUE(lets_in("h2", old_password));
  ASSERT_TRUE(root().put(inventory::host_prefix("h2") + "info", "{}"));
  etcd_.keep_copy("copy");
  create_port_group("web");
  ASSERT_TRUE(keeper_->remove("h2"));
  join("h3");
  const SeenGeneration newest = seen();
  etcd_.put_back("copy");
  ASSERT_TRUE(lets_in("h2", old_password)) << "so it is without a comparison";
  load();
  ASSERT_TRUE(keeper_->compare(network_));
  const View now = view();
  EXPECT_TRUE(now.network.port_groups.contains("old"));
  EXPECT_TRUE(now.network.port_groups.contains("web"));
  EXPECT_FALSE(now.members.contains("h2"));
  EXPECT_TRUE(now.members.contains("h3"));
  EXPECT_FALSE(now.hosts.contains("h2"));
  EXPECT_FALSE(lets_in("h2", old_password));
  EXPECT_TRUE(continues(now.generation, newest)) << "the others follow it";
  EXPECT_GT(now.generation.number, newest.number);
}

TEST_F(AuthorityCompareTest, AnOlderEtcdLetsInNoMachineThatHadAMembersNameBefore) {
  join("h2");
  const std::string of_the_first = password_;
  etcd_.keep_copy("copy");
  ASSERT_TRUE(keeper_->remove("h2"));
  const authority::Peer second = join("h2");
  etcd_.put_back("copy");
  ASSERT_TRUE(lets_in("h2", of_the_first));
  ASSERT_TRUE(keeper_->compare(network_));
  EXPECT_FALSE(lets_in("h2", of_the_first));
  EXPECT_TRUE(lets_in("h1", "password-of-h1"));
  EXPECT_TRUE(lets_in("h2", ask_for_password(second, now_).etcd_password));
}

TEST_F(AuthorityCompareTest, WhatIsKnownByItsNameAloneGetsNoPassword) {
  const authority::Peer h2 = join("h2");
  auto book = nlohmann::json::parse(*read_file(config_.paths.book()));
  book.erase("sum");
  for (auto& member : book["members"]) {
    if (member["host"] == "h2") member = {{"host", "h2"}};
  }
  ASSERT_TRUE(write_file(config_.paths.book(), book.dump()));
  load();
  EXPECT_EQ(keeper_->others(), (std::set<std::string>{"h2"}));
  EXPECT_THAT(ask_for_password(h2, now_).problem, HasSubstr("by its name only"));
}

TEST_F(AuthorityCompareTest, APortGroupThatWasDeletedStaysSo) {
  create_port_group("old");
  create_port_group("web");
  etcd_.keep_copy("copy");
  network_.port_groups.erase("web");
  ASSERT_TRUE(keeper_->write_documents(
      {{.key = inventory::port_group_document("web"), .value = std::nullopt}}));
  etcd_.put_back("copy");
  ASSERT_TRUE(keeper_->compare(network_));
  EXPECT_FALSE(view().network.port_groups.contains("web"));
  EXPECT_TRUE(view().network.port_groups.contains("old"));
}

TEST_F(AuthorityCompareTest, AnEmptyEtcdWithoutUsersIsMadeAnew) {
  create_port_group("old");
  const authority::Peer h2 = join("h2");
  const std::string old_password = password_;
  const SeenGeneration newest = seen();
  etcd_.lose_data();
  ASSERT_TRUE(keeper_->compare(network_));
  EtcdClient anybody(nobody_, plainly_);
  EXPECT_TRUE(anybody.auth_enabled().value_or(false));
  EXPECT_TRUE(lets_in("h1", "password-of-h1"));
  EXPECT_FALSE(lets_in("h2", old_password));
  EXPECT_TRUE(view().network.port_groups.contains("old"));
  EXPECT_TRUE(view().members.contains("h2"));
  EXPECT_TRUE(continues(view().generation, newest));
  const auto answer = ask_for_password(h2, now_);
  EXPECT_EQ(answer.problem, "");
  EXPECT_TRUE(lets_in("h2", answer.etcd_password));
}

TEST_F(AuthorityCompareTest, APasswordIsForMembersAndNotAtOnceAgain) {
  const authority::Peer h2 = join("h2");
  EXPECT_EQ(ask_for_password(h2, now_).problem, "");
  EXPECT_EQ(ask_for_password(h2, now_ + std::chrono::seconds(1)).refusal,
            authority::DoorRefusal::kBusy);
  EXPECT_EQ(ask_for_password(h2, now_ + std::chrono::seconds(10)).problem, "");
  EXPECT_EQ(ask_for_password(h2, now_ - std::chrono::hours(1)).problem, "") << "a clock set back";
  authority::Peer stranger = h2;
  stranger.key = std::string(64, 'a');
  EXPECT_THAT(ask_for_password(stranger, now_).problem, HasSubstr("another machine"));
  ASSERT_TRUE(keeper_->remove("h2"));
  EXPECT_THAT(ask_for_password(h2, now_).problem, HasSubstr("no longer a member"));
  EXPECT_FALSE(lets_in("h2", password_));
}

TEST_F(AuthorityCompareTest, AHostThatIsCurbedWritesNoMoreUntilItIsForgiven) {
  const authority::Peer h2 = join("h2");
  const auto writes = [this] {
    const inventory::EtcdAccess access = etcd_.access(inventory::host_user("h2"), password_);
    EtcdClient client(access, plainly_);
    return client.put(inventory::host_prefix("h2") + "x", "{}").has_value();
  };
  ASSERT_TRUE(writes());
  ASSERT_TRUE(keeper_->curb("h2"));
  EXPECT_FALSE(writes());
  EXPECT_TRUE(keeper_->curb("h2")) << "again";
  EXPECT_THAT(ask_for_password(h2, now_).problem, HasSubstr("has written too much"));
  load();
  EXPECT_EQ(keeper_->curbed(), (std::set<std::string>{"h2"})) << "a restart forgives nothing";
  ASSERT_TRUE(keeper_->forgive("h2"));
  EXPECT_TRUE(writes());
  load();
  EXPECT_TRUE(keeper_->curbed().empty());
  ASSERT_TRUE(keeper_->curb("h2"));
  ASSERT_TRUE(keeper_->remove("h2"));
  EXPECT_TRUE(keeper_->curbed().empty());
  ASSERT_TRUE(keeper_->curb("h1")) << "its own host";
  EXPECT_TRUE(keeper_->curbed().empty());
}

TEST_F(AuthorityCompareTest, WhatWasIsForgottenAndAFullEtcdTakesWritesAgain) {
  const std::int64_t before = view().revision;
  create_port_group("old");
  ASSERT_TRUE(keeper_->compact(view().revision));
  EXPECT_TRUE(keeper_->compact(before)) << "nothing is left to forget";
  ASSERT_TRUE(keeper_->make_room());
  etcd_.set_full(true);
  EXPECT_FALSE(root().put(std::string(inventory::kRoot) + "x", ""));
  ASSERT_TRUE(keeper_->make_room());
  EXPECT_TRUE(root().put(std::string(inventory::kRoot) + "x", ""));
}

TEST_F(AuthorityCompareTest, AChangeThatDidNotReachEtcdIsNoOlderEtcdForThoseWhoFollow) {
  create_port_group("old");
  const SeenGeneration newest = seen();
  is_away_ = true;
  EXPECT_FALSE(keeper_->write_documents({{.key = inventory::port_group_document("web"),
                                          .value = R"({"name":"web","vds":"lan","vlan":5})"}}));
  is_away_ = false;
  ASSERT_TRUE(keeper_->compare(network_));
  EXPECT_FALSE(view().network.port_groups.contains("web")) << "it was refused";
  EXPECT_TRUE(continues(view().generation, newest));
}

TEST_F(AuthorityCompareTest, AnOlderBookTakesTheMembersFromEtcdAndVoidsItsTokens) {
  create_port_group("old");
  const std::string token = *keeper_->make_token("h9", now_ + std::chrono::hours(1), now_);
  const std::string copy = *read_file(config_.paths.book());
  join("h2");
  join("h3");
  ASSERT_TRUE(keeper_->remove("h2"));
  const SeenGeneration newest = seen();
  ASSERT_TRUE(write_file(config_.paths.book(), copy));
  load();
  EXPECT_TRUE(keeper_->others().empty());
  ASSERT_TRUE(keeper_->compare(network_));
  EXPECT_EQ(keeper_->others(), (std::set<std::string>{"h3"}));
  EXPECT_EQ(seen().number, newest.number);
  const auto parsed = *authority::parse_token(token);
  EXPECT_NE(keeper_
                ->answer(std::nullopt,
                         {.kind = DoorRequest::Kind::kJoin,
                          .token_id = parsed.id,
                          .secret = parsed.secret,
                          .request = authority::make_request()->certificate},
                         now_)
                .problem,
            "");
  load();
  EXPECT_EQ(keeper_->others(), (std::set<std::string>{"h3"})) << "it is kept";
}

TEST_F(AuthorityCompareTest, TwoHistoriesAreForAnOperator) {
  create_port_group("old");
  const std::string copy = *read_file(config_.paths.book());
  etcd_.keep_copy("copy");
  create_port_group("web");
  create_port_group("more");
  const SeenGeneration newest = seen();
  etcd_.keep_copy("newest");
  etcd_.put_back("copy");
  ASSERT_TRUE(write_file(config_.paths.book(), copy));
  load();
  network_.port_groups.erase("web");
  network_.port_groups.erase("more");
  ASSERT_TRUE(keeper_->compare(network_)) << "both from one copy: it cannot know";
  create_port_group("other");
  EXPECT_FALSE(continues(view().generation, newest)) << "but the hosts do";
  etcd_.put_back("newest");
  const Status refused = keeper_->compare(network_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kBadState);
  EXPECT_THAT(refused.error().message, HasSubstr("a different history"));
  EXPECT_TRUE(view().network.port_groups.contains("web")) << "nothing was written";
  ASSERT_TRUE(keeper_->accept(network_, 0));
  EXPECT_FALSE(view().network.port_groups.contains("web"));
  EXPECT_TRUE(view().network.port_groups.contains("other"));
  EXPECT_TRUE(continues(view().generation, newest));
  ASSERT_TRUE(keeper_->compare(network_));
}

TEST_F(AuthorityCompareTest, AnAcceptedGenerationIsNewerThanWhatOtherHostsFollow) {
  create_port_group("old");
  const std::string copy = *read_file(config_.paths.book());
  etcd_.keep_copy("copy");
  ASSERT_TRUE(keeper_->accept(network_, 0));
  create_port_group("web");
  const SeenGeneration newest = seen();
  // The copy is from before, so that this host counts from there again.
  etcd_.put_back("copy");
  ASSERT_TRUE(write_file(config_.paths.book(), copy));
  load();
  network_.port_groups.erase("web");
  ASSERT_TRUE(keeper_->accept(network_, newest.number));
  EXPECT_TRUE(continues(view().generation, newest));
  EXPECT_GT(seen().number, newest.number);
  EXPECT_EQ(keeper_->generation(), seen().number);
  ASSERT_TRUE(keeper_->compare(network_));
}

TEST_F(AuthorityCompareTest, OnlyAProvenPromotionTakesTheAuthorityInEtcd) {
  const std::string document =
      std::string(inventory::kConfigPrefix) + std::string(inventory::kClusterDocument);
  const auto named = [this] {
    return view().documents.at(std::string(inventory::kClusterDocument));
  };
  ASSERT_TRUE(root().write_all({{.key = document,
                                 .value = inventory::print_cluster(config_.membership.self.cluster,
                                                                   "h2", view().generation)}}));
  load();
  ASSERT_TRUE(keeper_->compare(network_));
  EXPECT_THAT(named(), HasSubstr("h2")) << "this host may be the one that was replaced";

  const auto key = read_file(config_.paths.authority_key());
  ASSERT_TRUE(key);
  const auto proof = authority::print_succession({.keeper = config_.membership.self,
                                                  .term = 1,
                                                  .door = "192.0.2.1:28249",
                                                  .etcd = config_.membership.etcd},
                                                 *key);
  ASSERT_TRUE(proof) << proof.error().message;
  ASSERT_TRUE(write_file(config_.paths.succession(), *proof));
  ASSERT_TRUE(keeper_->compare(network_));
  EXPECT_THAT(named(), HasSubstr("h1"));
  ASSERT_TRUE(keeper_->settle(view()));
  EXPECT_EQ(view().documents.at(std::string(inventory::kSuccessionDocument)), *proof);
}

}  // namespace
}  // namespace paravane::cluster
