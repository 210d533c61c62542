#include "cluster/cluster_backup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "authority/succession.h"
#include "inventory/keys.h"

namespace paravane::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kBackedUp(32, 'c');
constexpr authority::Seconds kDay = authority::kAuthoritySince + std::chrono::hours(24);

class ClusterBackupTest : public testing::Test {
 protected:
  ClusterBackupTest() {
    backup_.authority = authority::make_authority(kBackedUp, kDay).value_or(authority::KeyPair{});
    backup_.book.members.admit("h1", std::string(64, 'a'));
    backup_.book.members.admit("h2", std::string(64, 'b'));
    backup_.book.generation = {.number = 1, .marks = {"0123456789abcdef"}};
    EXPECT_TRUE(backup_.book.tokens.make("h3", kDay + std::chrono::hours(1), kDay).has_value());
    backup_.inventory.keys.push_back(
        {.key = std::string(inventory::kConfigPrefix) + "vds/lan", .value = R"({"name":"lan"})"});
  }
  std::string refusal(const nlohmann::json& changed) {
    const auto backup = parse_backup(changed.dump());
    return backup ? std::string() : backup.error().message;
  }
  nlohmann::json text() { return nlohmann::json::parse(print_backup(backup_)); }

  ClusterBackup backup_{.made = kDay,
                        .version = "0.2.0",
                        .authority = {},
                        .membership = {.self = {.cluster = kBackedUp, .host = "h1"},
                                       .authority = "h1",
                                       .door = "10.77.0.1:28249",
                                       .runs_etcd = true,
                                       .own_etcd_authority = true,
                                       .etcd = {"https://10.77.0.1:2379"},
                                       .etcd_user = "paravane-host-h1",
                                       .etcd_password = "secret"},
                        .book = {}};
};

TEST_F(ClusterBackupTest, ComesBackWithoutTheTokens) {
  const auto back = parse_backup(print_backup(backup_));
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(back->made, kDay);
  EXPECT_EQ(back->authority.key, backup_.authority.key);
  EXPECT_EQ(back->membership.self, backup_.membership.self);
  EXPECT_EQ(back->book.members, backup_.book.members);
  EXPECT_EQ(back->book.generation, backup_.book.generation);
  EXPECT_TRUE(back->book.tokens.print().empty());
  ASSERT_EQ(back->inventory.keys.size(), 1U);
  EXPECT_EQ(back->inventory.keys[0].value, R"({"name":"lan"})");
}

TEST_F(ClusterBackupTest, HasTheConfigurationAndWhereHostsAre) {
  InventoryFile all;
  all.away.push_back({.key = inventory::host_prefix("h9") + "gids/x", .value = "{}"});
  for (const char* key :
       {"/paravane/v1/config/vds/lan", "/paravane/v1/hosts/h2/info",
        "/paravane/v1/hosts/h2/adapters/db1/1/mac/02:50:56:00:00:01", "/paravane/v1/other"}) {
    all.keys.push_back({.key = key, .value = "{}"});
  }
  std::vector<std::string> kept;
  EXPECT_TRUE(backed_up(all).away.empty());
  for (const auto& pair : backed_up(all).keys) kept.push_back(pair.key);
  EXPECT_THAT(kept, ElementsAre("/paravane/v1/config/vds/lan", "/paravane/v1/hosts/h2/info"));
}

TEST_F(ClusterBackupTest, AnotherKeyIsRefused) {
  auto changed = text();
  changed["authority_key"] = authority::make_authority(kBackedUp, kDay)->key;
  EXPECT_THAT(refusal(changed), HasSubstr("the private key does not match the certificate"));
}

TEST_F(ClusterBackupTest, ANewerFormIsRefused) {
  auto changed = text();
  changed["form"] = 2;
  EXPECT_THAT(refusal(changed), HasSubstr("newer version"));
}

TEST_F(ClusterBackupTest, OfAHostWithoutTheAuthorityIsRefused) {
  backup_.membership.authority = "h2";
  EXPECT_THAT(refusal(text()), HasSubstr("was not the authority"));
}

TEST_F(ClusterBackupTest, AStrangersSuccessionIsRefused) {
  const auto other = authority::make_authority(kBackedUp, kDay);
  backup_.succession = authority::print_succession({.keeper = backup_.membership.self,
                                                    .term = 1,
                                                    .door = "10.77.0.1:28249",
                                                    .etcd = {"https://10.77.0.1:2379"}},
                                                   other->key)
                           .value_or("");
  EXPECT_THAT(refusal(text()), HasSubstr("is not signed by the cluster's authority"));
}

TEST_F(ClusterBackupTest, EachPartMustBeThere) {
  for (const char* part : {"form", "made", "version", "authority_key", "authority", "membership",
                           "book", "inventory"}) {
    auto changed = text();
    changed.erase(part);
    EXPECT_THAT(refusal(changed), HasSubstr("this is not a valid backup of a cluster")) << part;
  }
}

}  // namespace
}  // namespace paravane::cluster
