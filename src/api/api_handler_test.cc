#include "api/api_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/api_error_json.h"
#include "json/json_text.h"
#include "testing/fake_management.h"

namespace paravane::api {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class ApiHandlerTest : public testing::Test {
 protected:
  json call(const char* method, const std::string& path, const std::string& body = {},
            std::multimap<std::string, std::string> query = {}) {
    const ApiResponse response =
        handler_.handle({.method = method, .path = path, .query = std::move(query), .body = body});
    status_ = response.status;
    EXPECT_EQ(response.body.back(), '\n');
    const auto value = parse_json(response.body);
    EXPECT_TRUE(value) << response.body;
    return value ? *value : json();
  }
  std::string error_code(const json& answer) {
    return answer.value("/error/code"_json_pointer, std::string("none"));
  }

  FakeManagement management_;
  ApiHandler handler_{management_};
  int status_ = 0;
};

TEST_F(ApiHandlerTest, AddsAVm) {
  const json vm = call("POST", "/v1/vms", R"({"name":"db1"})");
  EXPECT_EQ(status_, 201);
  EXPECT_EQ(vm.at("name"), "db1");
  EXPECT_EQ(vm.at("state"), "detached");
  EXPECT_EQ(vm.at("socket"), "/run/paravane/vm/db1.sock");
  EXPECT_TRUE(management_.vms.contains("db1"));
}

TEST_F(ApiHandlerTest, BeginsAnUpgrade) {
  call("POST", "/v1/daemon/upgrade");
  EXPECT_EQ(status_, 202);
  call("POST", "/v1/daemon/upgrade", R"({"check":true})");
  EXPECT_EQ(status_, 202);
  EXPECT_EQ(management_.upgrades, (std::vector{false, true}));
  call("POST", "/v1/daemon/upgrade", R"({"force":true})");
  EXPECT_EQ(status_, 400);
  call("GET", "/v1/daemon/upgrade");
  EXPECT_EQ(status_, 405);
  EXPECT_EQ(management_.upgrades.size(), 2U);
}

TEST_F(ApiHandlerTest, ListsVms) {
  call("POST", "/v1/vms", R"({"name":"b"})");
  call("POST", "/v1/vms", R"({"name":"a"})");
  const json list = call("GET", "/v1/vms");
  ASSERT_EQ(list.at("vms").size(), 2u);
  EXPECT_EQ(list.at("vms")[0].at("name"), "a");
}

TEST_F(ApiHandlerTest, ShowsOneVm) {
  call("POST", "/v1/vms", R"({"name":"db1","version":18})");
  EXPECT_EQ(call("GET", "/v1/vms/db1").at("version"), 18);
  EXPECT_EQ(status_, 200);
  EXPECT_EQ(error_code(call("GET", "/v1/vms/db2")), "not_found");
  EXPECT_EQ(status_, 404);
}

TEST_F(ApiHandlerTest, RemovesAVmUnlessItIsAttached) {
  call("POST", "/v1/vms", R"({"name":"db1"})");
  management_.vms["db1"].adapters[0].state = model::VmState::kActive;
  const json refused = call("DELETE", "/v1/vms/db1");
  EXPECT_EQ(status_, 409);
  EXPECT_EQ(error_code(refused), "vms_attached");
  EXPECT_EQ(refused.at("error").at("vms"), json::array({"db1"}));
  call("DELETE", "/v1/vms/db1", {}, {{"force", "true"}});
  EXPECT_EQ(status_, 200);
  EXPECT_TRUE(management_.vms.empty());
}

TEST_F(ApiHandlerTest, ChangesAVmUnlessItIsAttached) {
  call("POST", "/v1/vms", R"({"name":"db1","hw_version":13})");
  const json vm = call("PATCH", "/v1/vms/db1", R"({"hw_version":14,"limits":{"gids":8}})");
  EXPECT_EQ(status_, 200);
  EXPECT_EQ(vm.at("hw_version"), 14);
  EXPECT_EQ(vm.at("version"), 20);
  EXPECT_EQ(vm.at("protocol"), "v1");
  EXPECT_EQ(vm.at("limits").at("gids"), 8);
  EXPECT_TRUE(call("PATCH", "/v1/vms/db1", R"({"limits":{"gids":null}})").at("limits").empty());
  EXPECT_EQ(error_code(call("PATCH", "/v1/vms/db2", R"({"hw_version":14})")), "not_found");
  management_.vms["db1"].adapters[0].state = model::VmState::kAttached;
  EXPECT_EQ(error_code(call("PATCH", "/v1/vms/db1", R"({"hw_version":15})")), "vms_attached");
  EXPECT_EQ(status_, 409);
}

TEST_F(ApiHandlerTest, AddsAndRemovesAdapters) {
  call("POST", "/v1/vms", R"({"name":"db1"})");
  const json vm = call("POST", "/v1/vms/db1/adapters", R"({"protocol":"v1"})");
  EXPECT_EQ(status_, 201);
  ASSERT_EQ(vm.at("adapters").size(), 2u);
  EXPECT_EQ(vm.at("adapters")[1].at("number"), 2);
  EXPECT_EQ(vm.at("adapters")[1].at("protocol"), "v1");
  EXPECT_EQ(vm.at("adapters")[1].at("socket"), "/run/paravane/vm/db1.2.sock");
  EXPECT_EQ(vm.at("socket"), "/run/paravane/vm/db1.sock");
  management_.vms["db1"].adapters[1].state = model::VmState::kActive;
  EXPECT_EQ(error_code(call("DELETE", "/v1/vms/db1/adapters/2")), "vms_attached");
  const json rest = call("DELETE", "/v1/vms/db1/adapters/2", {}, {{"force", "true"}});
  EXPECT_EQ(status_, 200);
  EXPECT_EQ(rest.at("adapters").size(), 1u);
}

TEST_F(ApiHandlerTest, ConnectsAndDisconnectsAdapters) {
  const json made = call("POST", "/v1/vms", R"({"name":"db1"})");
  EXPECT_EQ(made.at("adapters")[0].at("connected"), true);
  management_.vms["db1"].adapters[0].state = model::VmState::kActive;
  const json out = call("PATCH", "/v1/vms/db1/adapters/1", R"({"connected":false})");
  EXPECT_EQ(status_, 200);
  EXPECT_EQ(out.at("adapters")[0].at("connected"), false);
  EXPECT_EQ(error_code(call("PATCH", "/v1/vms/db1/adapters/2", R"({"connected":false})")),
            "not_found");
  for (const char* bad : {"{}", R"({"connected":1})", R"({"connected":true,"x":1})", "[]", ""}) {
    EXPECT_EQ(error_code(call("PATCH", "/v1/vms/db1/adapters/1", bad)), "invalid_request") << bad;
  }
  EXPECT_EQ(error_code(call("PATCH", "/v1/vms/db1/adapters/1", R"({"connected":true})",
                            {{"force", "true"}})),
            "invalid_request");
}

TEST_F(ApiHandlerTest, StopsTheDaemonUnlessAVmIsAttached) {
  call("POST", "/v1/vms", R"({"name":"db1"})");
  management_.vms["db1"].adapters[0].state = model::VmState::kAttached;
  EXPECT_EQ(error_code(call("POST", "/v1/daemon/stop")), "vms_attached");
  EXPECT_EQ(error_code(call("POST", "/v1/daemon/stop", R"({"force":false})")), "vms_attached");
  EXPECT_EQ(management_.stops, 0u);
  call("POST", "/v1/daemon/stop", R"({"force":true})");
  EXPECT_EQ(status_, 202);
  EXPECT_EQ(management_.stops, 1u);
}

TEST_F(ApiHandlerTest, TellsHowTheDaemonIs) {
  EXPECT_EQ(call("GET", "/v1/status").at("pid"), 77);
  call("POST", "/v1/vms", R"({"name":"db1"})");
  call("POST", "/v1/vms", R"({"name":"db2"})");
  EXPECT_EQ(call("GET", "/v1/stats").at("vms").size(), 2u);
  EXPECT_EQ(call("GET", "/v1/stats", {}, {{"vm", "db2"}}).at("vms").size(), 1u);
  EXPECT_EQ(error_code(call("GET", "/v1/stats", {}, {{"vm", "db3"}})), "not_found");
}

TEST_F(ApiHandlerTest, PassesErrorsOnWithTheirRemedy) {
  management_.fault =
      model::ApiError{.code = model::ApiErrorCode::kNoSpace, .message = "full", .remedy = "free"};
  const json answer = call("POST", "/v1/vms", R"({"name":"db1"})");
  EXPECT_EQ(status_, 507);
  EXPECT_EQ(answer.at("error").at("message"), "full");
  EXPECT_EQ(answer.at("error").at("remedy"), "free");
}

struct BadRequest {
  const char* method;
  std::string path;
  std::string body;
  std::multimap<std::string, std::string> query;
  int status;
};
class ApiHandlerBadRequest : public ApiHandlerTest,
                             public testing::WithParamInterface<BadRequest> {};

TEST_P(ApiHandlerBadRequest, IsRefusedAndChangesNothing) {
  const BadRequest& request = GetParam();
  const json answer = call(request.method, request.path, request.body, request.query);
  EXPECT_EQ(status_, request.status) << request.method << " " << request.path;
  EXPECT_FALSE(answer.at("error").at("message").get<std::string>().empty());
  EXPECT_TRUE(management_.vms.empty());
  EXPECT_EQ(management_.stops, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    All, ApiHandlerBadRequest,
    testing::Values(
        BadRequest{"GET", "", "", {}, 404}, BadRequest{"GET", "/", "", {}, 404},
        BadRequest{"GET", "/v2/vms", "", {}, 404}, BadRequest{"GET", "/v1/vms/", "", {}, 400},
        BadRequest{"GET", "/v1/vms/../status", "", {}, 400},
        BadRequest{"GET", "/v1/vms/a/b", "", {}, 400},
        BadRequest{"GET", std::string("/v1/vms/a\0", 10), "", {}, 400},
        BadRequest{"GET", "/" + std::string(kMaxApiPath, 'a'), "", {}, 413},
        BadRequest{"POST", "/v1/vms", std::string(kMaxApiBody + 1, ' '), {}, 413},
        BadRequest{"POST", "/v1/vms", "", {}, 400}, BadRequest{"POST", "/v1/vms", "[]", {}, 400},
        BadRequest{"POST", "/v1/vms", R"({"name":"a"})", {{"x", "1"}}, 400},
        BadRequest{"PUT", "/v1/vms", R"({"name":"a"})", {}, 405},
        BadRequest{"POST", "/v1/vms/a", R"({"name":"a"})", {}, 405},
        BadRequest{"PATCH", "/v1/vms", R"({"name":"a"})", {}, 405},
        BadRequest{"PATCH", "/v1/vms/a", "", {}, 400},
        BadRequest{"PATCH", "/v1/vms/a", "{}", {}, 400},
        BadRequest{"PATCH", "/v1/vms/a", R"({"name":"b"})", {}, 400},
        BadRequest{"PATCH", "/v1/vms/a", R"({"hw_version":14})", {{"force", "true"}}, 400},
        BadRequest{"PATCH", "/v1/vms/A", R"({"hw_version":14})", {}, 400},
        BadRequest{"GET", "/v1/vms/a/adapters", "", {}, 405},
        BadRequest{"POST", "/v1/vms/a/adapters", "", {}, 400},
        BadRequest{"POST", "/v1/vms/A/adapters", "{}", {}, 400},
        BadRequest{"POST", "/v1/vms/a/adapters", "{}", {}, 404},
        BadRequest{"POST", "/v1/vms/a/adapters", "{}", {{"x", "1"}}, 400},
        BadRequest{"POST", "/v1/vms//adapters", "{}", {}, 400},
        BadRequest{"DELETE", "/v1/vms/a/adapters/", "", {}, 400},
        BadRequest{"DELETE", "/v1/vms/a/adapters/0", "", {}, 400},
        BadRequest{"DELETE", "/v1/vms/a/adapters/9", "", {}, 400},
        BadRequest{"DELETE", "/v1/vms/a/adapters/02", "", {}, 400},
        BadRequest{"DELETE", "/v1/vms/a/adapters/2/x", "", {}, 400},
        BadRequest{"DELETE", "/v1/vms/a/adapters/2", "", {}, 404},
        BadRequest{"DELETE", "/v1/vms/a/adapters/2", "", {{"force", "1"}}, 400},
        BadRequest{"GET", "/v1/vms/a/adapters/2", "", {}, 405},
        BadRequest{"POST", "/v1/status", "", {}, 405},
        BadRequest{"DELETE", "/v1/stats", "", {}, 405},
        BadRequest{"GET", "/v1/daemon/stop", "", {}, 405},
        BadRequest{"POST", "/v1/daemon/stop", "{", {}, 400},
        BadRequest{"POST", "/v1/daemon/stop", R"({"force":1})", {}, 400},
        BadRequest{"POST", "/v1/daemon/stop", R"({"now":true})", {}, 400},
        BadRequest{"DELETE", "/v1/vms/a", "", {{"force", "yes"}}, 400},
        BadRequest{"DELETE", "/v1/vms/a", "", {{"force", "true"}, {"force", "true"}}, 400},
        BadRequest{"GET", "/v1/stats", "", {{"vm", "A"}}, 400}));

TEST(ApiError, ComesBackAsItWas) {
  const model::ApiError error{.code = model::ApiErrorCode::kVmsAttached,
                              .message = "vm \"a\" is attached",
                              .remedy = "wait",
                              .vms = {"a", "b"}};
  const model::ApiError read = api_error_from_body(409, error_response(error).body);
  EXPECT_EQ(read.code, error.code);
  EXPECT_EQ(read.message, error.message);
  EXPECT_EQ(read.remedy, error.remedy);
  EXPECT_EQ(read.vms, error.vms);
}

TEST(ApiError, IsMadeOfAnAnswerThatIsNotOurs) {
  for (const char* body : {"", "<html>", "{}", R"({"error":1})", R"({"error":{"vms":[1]}})"}) {
    EXPECT_EQ(api_error_from_body(502, body).code, model::ApiErrorCode::kInternal) << body;
  }
  EXPECT_THAT(api_error_from_body(502, "").message, HasSubstr("502"));
}

}  // namespace
}  // namespace paravane::api
