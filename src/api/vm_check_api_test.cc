#include "api/vm_check_api.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/vm_check_json.h"
#include "testing/fake_cluster.h"
#include "testing/fake_management.h"

namespace paravane::api {
namespace {

using nlohmann::json;

class VmCheckApiTest : public testing::Test {
 protected:
  VmCheckApiTest() {
    model::VmSpec vm;
    vm.name = "db1";
    EXPECT_TRUE(management_.add_vm(vm));
  }
  ApiResponse ask(const std::string& path, const char* method = "GET",
                  std::multimap<std::string, std::string> query = {}) {
    return handler_.handle({.method = method, .path = path, .query = std::move(query)});
  }
  std::string found(const std::string& check) {
    const json answer = json::parse(ask("/v1/vms/db1/check").body);
    for (const json& row : answer.at("checks")) {
      if (row.at("check") == check) return row.at("found");
    }
    return "no such row";
  }

  FakeManagement management_;
  FakeCluster cluster_;
  ApiHandler handler_{management_, &cluster_};
};

TEST_F(VmCheckApiTest, TellsWhatManagementKnows) {
  EXPECT_EQ(found("Adapters"), "1 of 8");
  EXPECT_EQ(found("Channel"), "not in a cluster: only VMs on this host are reachable");
  management_.configuration.settings = {
      {.path = std::string(model::kPvrdmaMaxAdapters), .value = "2"}};
  cluster_.status = {.member = true, .host = "h1", .connected = true};
  EXPECT_EQ(found("Adapters"), "1 of 2");
  EXPECT_EQ(found("Cluster"), "member as h1");
}

TEST_F(VmCheckApiTest, WorksWhereNothingIsKnownOfClusters) {
  ApiHandler alone(management_);
  EXPECT_EQ(alone.handle({.method = "GET", .path = "/v1/vms/db1/check"}).status, 200);
}

TEST_F(VmCheckApiTest, RefusesOtherRequests) {
  EXPECT_EQ(ask("/v1/vms/db9/check").status, 404);
  EXPECT_EQ(ask("/v1/vms/DB1/check").status, 400);
  EXPECT_EQ(ask("/v1/vms//check").status, 400);
  EXPECT_EQ(ask("/v1/vms/db1/check", "POST").status, 405);
  EXPECT_EQ(ask("/v1/vms/db1/check", "GET", {{"x", "y"}}).status, 400);
  management_.fault =
      model::ApiError{.code = model::ApiErrorCode::kBusy, .message = "busy", .remedy = ""};
  EXPECT_EQ(ask("/v1/vms/db1/check").status, 503);
}

TEST(VmCheckJson, IsReadAsItIsWritten) {
  const model::CheckRow row{.check = "a",
                            .verdict = model::Verdict::kFailed,
                            .found = "b",
                            .cure = "c",
                            .stops_start = true};
  const auto read = check_row_from_json(to_json(row));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, row);
  json newer = to_json(row);
  newer["more"] = 1;
  EXPECT_TRUE(check_row_from_json(newer));
  newer["verdict"] = "fine";
  EXPECT_FALSE(check_row_from_json(newer));
  EXPECT_FALSE(check_row_from_json(json::array()));
}

}  // namespace
}  // namespace paravane::api
