// The requests about virtual InfiniBand adapters.

#include "api/infiniband_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "api/infiniband_json.h"
#include "json/json_text.h"
#include "testing/fake_management.h"

namespace paravane::api {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kAdapter = R"({"name":"mlx4_0","device":"MT26428","bus":13})";

class InfinibandApiTest : public testing::Test {
 protected:
  json call(const char* method, const std::string& path, const std::string& body = {}) {
    const ApiResponse response =
        handler_.handle({.method = method, .path = "/v1/infiniband" + path, .body = body});
    status_ = response.status;
    const auto value = parse_json(response.body);
    EXPECT_TRUE(value) << response.body;
    return value ? *value : json();
  }
  int status_of(const char* method, const std::string& path, const std::string& body = {}) {
    call(method, path, body);
    return status_;
  }

  FakeManagement management_;
  ApiHandler handler_{management_};
  int status_ = 0;
};

TEST_F(InfinibandApiTest, AddsListsAndRemovesAdapters) {
  EXPECT_EQ(call("GET", "/adapters"), json({{"adapters", json::array()}}));
  const auto added = ib_adapter_status_from_json(call("POST", "/adapters", kAdapter));
  EXPECT_EQ(status_, 201);
  ASSERT_TRUE(added);
  EXPECT_EQ(*added, management_.ib_adapters.at("mlx4_0"));
  const json list = call("GET", "/adapters").at("adapters");
  EXPECT_EQ(status_, 200);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(*ib_adapter_status_from_json(list[0]), *added);
  EXPECT_EQ(status_of("POST", "/adapters", kAdapter), 409);
  EXPECT_EQ(call("DELETE", "/adapters/mlx4_0"), json::object());
  EXPECT_EQ(status_, 200);
  EXPECT_THAT(call("DELETE", "/adapters/mlx4_0").dump(), HasSubstr("mlx4_0"));
  EXPECT_EQ(status_, 404);
}

TEST_F(InfinibandApiTest, ListsAndChangesModules) {
  const json list = call("GET", "/modules").at("modules");
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[1].at("name"), "ib_ipoib");
  const json changed = call("PATCH", "/modules/ib_ipoib", R"({"options":"UplinkNum=4,6"})");
  EXPECT_EQ(status_, 200);
  EXPECT_EQ(changed.at("options"), "UplinkNum=4,6");
  EXPECT_EQ(changed.at("enabled"), true);
  EXPECT_EQ(call("PATCH", "/modules/ib_ipoib", R"({"enabled":false})").at("options"),
            "UplinkNum=4,6");
  EXPECT_EQ(status_of("PATCH", "/modules/ib_ipoib", R"({"options":"UplinkNum=x"})"), 400);
  EXPECT_EQ(status_of("PATCH", "/modules/ib_ipoib", R"({"option":"NetQueue=1"})"), 400);
  EXPECT_EQ(status_of("PATCH", "/modules/e1000", "{}"), 404);
  EXPECT_EQ(status_of("PUT", "/modules/ib_ipoib", "{}"), 405);
  EXPECT_EQ(status_of("POST", "/modules", "{}"), 405);
}

TEST_F(InfinibandApiTest, AnAdapterMayNameNics) {
  const json added = call("POST", "/adapters",
                          R"({"name":"a","device":"MT26428","bus":1,"ethernet":{"2":"eth1"}})");
  EXPECT_EQ(added.at("ethernet"), json({{"2", "eth1"}}));
  EXPECT_EQ(management_.ib_adapters.at("a").adapter.ethernet.at(2), "eth1");
  for (const char* bad : {R"({"3":"eth1"})", R"({"0":"eth1"})", R"({"x":"eth1"})", R"({"2":1})",
                          R"({"2":""})", R"({"2":"a/b"})", R"({"2":"sixteen-letters-"})", "[]"})
    EXPECT_EQ(
        status_of("POST", "/adapters",
                  std::string(R"({"name":"b","device":"MT26428","bus":2,"ethernet":)") + bad + "}"),
        400)
        << bad;
  EXPECT_EQ(status_of("POST", "/adapters",
                      R"({"name":"c","device":"MT25408","bus":3,"ethernet":{"2":"eth1"}})"),
            400)
      << "it is not capable of VPI";
}

TEST_F(InfinibandApiTest, ShowsTheSwitchAndItsLinks) {
  management_.fabric = {.host = "h1",
                        .switch_guid = 0x0250560001000000,
                        .links = {{.port = 1, .peer = "mlx4_0 port 1"}}};
  EXPECT_EQ(*ib_fabric_from_json(call("GET", "/fabric")), management_.fabric);
}

TEST_F(InfinibandApiTest, Restarts) {
  EXPECT_EQ(call("POST", "/restart"), json::object());
  EXPECT_EQ(status_, 200);
  EXPECT_EQ(management_.ib_restarts, 1U);
}

TEST_F(InfinibandApiTest, RefusesWhatIsNotAsItShouldBe) {
  EXPECT_EQ(status_of("POST", "/adapters"), 400);
  EXPECT_EQ(status_of("POST", "/adapters", R"({"name":"mlx4_0","device":"MT26428"})"), 400);
  EXPECT_EQ(status_of("POST", "/adapters", R"({"name":"mlx4_0","device":"MT1","bus":1})"), 400);
  EXPECT_EQ(status_of("DELETE", "/adapters/4"), 400);
  EXPECT_EQ(status_of("DELETE", "/adapters/"), 400);
  EXPECT_EQ(status_of("DELETE", "/adapters"), 405);
  EXPECT_EQ(status_of("GET", "/adapters/mlx4_0"), 405);
  EXPECT_EQ(status_of("POST", "/fabric"), 405);
  EXPECT_EQ(status_of("GET", "/restart"), 405);
  EXPECT_EQ(status_of("GET", ""), 404);
  EXPECT_EQ(status_of("GET", "/adapter"), 404);
  EXPECT_TRUE(management_.ib_adapters.empty());
  EXPECT_EQ(management_.ib_restarts, 0U);
  const ApiResponse response =
      handler_.handle({.method = "POST", .path = kIbRestartPath, .query = {{"a", "b"}}});
  EXPECT_EQ(response.status, 400);
}

TEST_F(InfinibandApiTest, PassesOnWhatTheHostRefuses) {
  management_.fault =
      model::ApiError{.code = model::ApiErrorCode::kBusy, .message = "no", .remedy = ""};
  EXPECT_EQ(status_of("GET", "/adapters"), 503);
  EXPECT_EQ(status_of("POST", "/adapters", kAdapter), 503);
  EXPECT_EQ(status_of("DELETE", "/adapters/mlx4_0"), 503);
  EXPECT_EQ(status_of("GET", "/fabric"), 503);
  EXPECT_EQ(status_of("POST", "/restart"), 503);
}

}  // namespace
}  // namespace paravane::api
