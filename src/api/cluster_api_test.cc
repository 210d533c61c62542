#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/api_handler.h"
#include "api/backup_json.h"
#include "api/cluster_json.h"
#include "testing/fake_cluster.h"
#include "testing/fake_management.h"

namespace paravane::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ClusterApiTest : public testing::Test {
 protected:
  ApiResponse ask(const char* method, const std::string& path, const std::string& body = {},
                  std::multimap<std::string, std::string> query = {}) {
    return handler_.handle(
        {.method = method, .path = path, .query = std::move(query), .body = body});
  }

  FakeManagement management_;
  FakeCluster cluster_;
  ApiHandler handler_{management_, &cluster_};
};

TEST_F(ClusterApiTest, EachRequestReachesTheCluster) {
  EXPECT_EQ(ask("POST", "/v1/cluster", R"({"host":"h1"})").status, 201);
  EXPECT_EQ(ask("POST", "/v1/cluster/tokens", R"({"host":"h2","valid_s":60})").status, 201);
  EXPECT_EQ(ask("POST", "/v1/cluster/join", R"({"token":"pvt1.x"})").status, 201);
  EXPECT_EQ(ask("DELETE", "/v1/cluster/hosts/h2").status, 200);
  EXPECT_EQ(ask("DELETE", "/v1/cluster").status, 200);
  EXPECT_EQ(ask("DELETE", "/v1/cluster", {}, {{"force", "true"}}).status, 200);
  EXPECT_THAT(cluster_.asked, ElementsAre("init h1", "token h2 60", "join pvt1.x", "remove h2",
                                          "leave", "leave by force"));
}

TEST_F(ClusterApiTest, ABackupGoesAndComesInBase64) {
  const auto made = ask("POST", "/v1/cluster/backup", R"({"passphrase":"p"})");
  EXPECT_EQ(made.status, 200);
  EXPECT_EQ(nlohmann::json::parse(made.body)["backup"], "c2VhbGVk");
  const std::string asked = R"({"backup":"c2VhbGVk","passphrase":"p"})";
  EXPECT_EQ(ask("POST", "/v1/cluster/backup/inspect", asked).status, 200);
  EXPECT_EQ(ask("POST", "/v1/cluster/restore", asked).status, 200);
  EXPECT_EQ(ask("POST", "/v1/cluster/promote", asked).status, 200);
  EXPECT_EQ(ask("POST", "/v1/cluster/restore/inspect", R"({"accept":true})").status, 200);
  EXPECT_EQ(ask("POST", "/v1/cluster/restore", R"({"accept":true})").status, 200);
  EXPECT_THAT(cluster_.asked, ElementsAre("backup p", "inspect sealed p", "restore sealed p",
                                          "promote sealed p", "inspect accept", "accept"));
}

TEST_F(ClusterApiTest, ALargeBodyIsTakenWithABackupAlone) {
  const std::string large =
      R"({"backup":")" + std::string(4 * kMaxApiBody, 'A') + R"(","passphrase":"p"})";
  EXPECT_EQ(ask("POST", "/v1/cluster/restore", large).status, 200);
  EXPECT_EQ(ask("POST", "/v1/cluster/join", large).status, 413);
  EXPECT_EQ(ask("POST", "/v1/cluster/restore", std::string(kMaxBackupBody + 1, ' ')).status, 413);
}

TEST_F(ClusterApiTest, AnEtcdOfTheOperatorsIsNamed) {
  EXPECT_EQ(ask("POST", "/v1/cluster",
                R"({"host":"h1","etcd":{"url":"https://192.0.2.9:2379","user":"root"}})")
                .status,
            201);
  EXPECT_THAT(cluster_.asked, ElementsAre("init h1 at https://192.0.2.9:2379"));
}

TEST_F(ClusterApiTest, OddRequestsReachNobody) {
  for (const auto& [path, body] : std::vector<std::pair<std::string, std::string>>{
           {"/v1/cluster", "{"},
           {"/v1/cluster", R"({"host":"H"})"},
           {"/v1/cluster", R"({"name":"h"})"},
           {"/v1/cluster", R"({"etcd":{}})"},
           {"/v1/cluster/tokens", "{}"},
           {"/v1/cluster/tokens", R"({"host":"../x"})"},
           {"/v1/cluster/tokens", R"({"host":"h","valid_s":0})"},
           {"/v1/cluster/tokens", R"({"host":"h","valid_s":86401})"},
           {"/v1/cluster/backup", R"({"passphrase":7})"},
           {"/v1/cluster/restore", R"({"backup":"*","passphrase":"p"})"},
           {"/v1/cluster/restore", R"({"accept":false})"},
           {"/v1/cluster/restore/inspect", "{}"},
           {"/v1/cluster/restore/inspect", R"({"accept":true,"more":1})"},
           {"/v1/cluster/promote", R"({"backup":""})"},
           {"/v1/cluster/join", R"({"token":7})"}}) {
    EXPECT_EQ(ask("POST", path, body).status, 400) << path << body;
  }
  EXPECT_EQ(ask("DELETE", "/v1/cluster/hosts/..").status, 400);
  EXPECT_EQ(ask("DELETE", "/v1/cluster", {}, {{"farce", "true"}}).status, 400);
  EXPECT_EQ(ask("PATCH", "/v1/cluster").status, 405);
  EXPECT_EQ(ask("GET", "/v1/cluster/join").status, 405);
  EXPECT_EQ(ask("GET", "/v1/cluster/more").status, 404);
  EXPECT_EQ(ask("GET", "/v1/clusters").status, 404);
  EXPECT_THAT(cluster_.asked, ElementsAre());
}

TEST_F(ClusterApiTest, ARefusalHasItsCode) {
  cluster_.fault =
      model::ApiError{.code = model::ApiErrorCode::kClusterAway, .message = "away", .remedy = ""};
  const ApiResponse away = ask("GET", "/v1/cluster");
  EXPECT_EQ(away.status, 503);
  EXPECT_THAT(away.body, HasSubstr("\"cluster_away\""));
  cluster_.fault->code = model::ApiErrorCode::kDenied;
  EXPECT_EQ(ask("POST", "/v1/cluster/join", R"({"token":"x"})").status, 403);
}

TEST_F(ClusterApiTest, AStatusComesAcross) {
  const model::ClusterStatus status{
      .member = true,
      .cluster = "c",
      .host = "h1",
      .authority = "h1",
      .address = "192.0.2.1",
      .connected = false,
      .connecting = true,
      .problem = "away",
      .since_s = 5,
      .certificate_left_s = 7,
      .certificate_problem = "not yet",
      .etcd = {"https://192.0.2.1:2379"},
      .hosts = {{.name = "h1",
                 .present = true,
                 .address = "192.0.2.1",
                 .port = 28250,
                 .version = "1",
                 .adapters = 2,
                 .gids = 3,
                 .channel = "none",
                 .problem = {.text = "no answer", .remedy = "start it", .host = "h1"},
                 .by_name = true}},
      .lost = {"lost"},
      .odd_keys = 9};
  const auto seen = cluster_status_from_json(to_json(status));
  ASSERT_TRUE(seen);
  EXPECT_EQ(to_json(*seen), to_json(status));
  const auto none = cluster_status_from_json(to_json(model::ClusterStatus{}));
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->member);
  EXPECT_EQ(to_json(model::ClusterStatus{}).dump(), R"({"member":false})");
}

TEST_F(ClusterApiTest, TheAdaptersOfAllHostsComeAcross) {
  cluster_.adapters = {
      {.host = "h1", .adapter = {"db1", 1}, .mac = *model::parse_mac("02:50:56:00:00:01")},
      {.host = "h2",
       .adapter = {"db2", 2},
       .mac = *model::parse_mac("02:50:56:00:00:02"),
       .port_group = "rdma"}};
  const auto answer = ask("GET", "/v1/cluster/adapters");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(*cluster_adapters_from_json(nlohmann::json::parse(answer.body)), cluster_.adapters);
  EXPECT_EQ(ask("POST", "/v1/cluster/adapters").status, 405);
  for (const char* bad : {"{}", R"({"adapters":[{"host":"h1"}]})",
                          R"({"adapters":[{"host":"h1","vm":"a","number":1,"mac":"x"}]})"}) {
    EXPECT_FALSE(cluster_adapters_from_json(nlohmann::json::parse(bad))) << bad;
  }
}

TEST_F(ClusterApiTest, AVmOfAnotherHostIsNamedWithItsHost) {
  cluster_.adapters = {{.host = "h2", .adapter = {"db2", 1}}};
  const auto elsewhere = ask("GET", "/v1/vms/db2");
  EXPECT_EQ(elsewhere.status, 404);
  EXPECT_THAT(elsewhere.body, HasSubstr("vm db2 is on host h2"));
  EXPECT_THAT(ask("POST", "/v1/vms/db2/adapters", "{}").body, HasSubstr("vm db2 is on host h2"));
  EXPECT_THAT(ask("GET", "/v1/vms/db3").body, HasSubstr("vm db3 does not exist"));
  ask("POST", "/v1/vms", R"({"name":"db2"})");
  EXPECT_EQ(ask("GET", "/v1/vms/db2").status, 200);
  EXPECT_THAT(ask("DELETE", "/v1/vms/db2/adapters/2").body, Not(HasSubstr("h2")))
      << "this host has a VM of the name, too";
}

TEST_F(ClusterApiTest, WhatIsAcceptedComesAcross) {
  const model::AcceptSummary summary{
      .cluster = "c",
      .host = "h1",
      .generation = 18,
      .members = {"h1", "h2", "h3"},
      .switches = 1,
      .port_groups = 2,
      .others = {{.host = "h2", .generation = 19, .counts = true},
                 {.host = "h3", .problem = "the host does not answer"}}};
  const nlohmann::json value = to_json(summary);
  EXPECT_EQ(value["others"][0]["generation"], 19);
  EXPECT_FALSE(value["others"][1].contains("generation"));
  const auto seen = accept_summary_from_json(value);
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(to_json(*seen), value);
  EXPECT_FALSE(accept_summary_from_json(nlohmann::json::object()));
}

TEST_F(ClusterApiTest, TheMembersOfABackupComeAcrossByName) {
  const model::BackupSummary summary{
      .cluster = "c", .host = "h1", .address = "", .version = "", .members = {"h1", "h2"}};
  const auto seen = backup_summary_from_json(to_json(summary));
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(seen->members, summary.members);
}

TEST_F(ClusterApiTest, DamageComesAcrossOfAMemberAndOfNone) {
  for (const bool member : {false, true}) {
    const auto seen = cluster_status_from_json(to_json(
        model::ClusterStatus{.damage = "a file", .damage_remedy = "Restore", .member = member}));
    ASSERT_TRUE(seen) << seen.error().message;
    EXPECT_EQ(seen->member, member);
    EXPECT_EQ(seen->damage, "a file");
    EXPECT_EQ(seen->damage_remedy, "Restore");
  }
}

TEST_F(ClusterApiTest, AHostThatKnowsNothingOfClustersSaysSo) {
  ApiHandler alone(management_);
  EXPECT_EQ(alone.handle({.method = "GET", .path = "/v1/cluster"}).status, 404);
}

}  // namespace
}  // namespace paravane::api
