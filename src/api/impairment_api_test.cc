// The requests about impairments.

#include "api/impairment_api.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "json/json_text.h"
#include "testing/fake_management.h"

namespace paravane::api {
namespace {

using nlohmann::json;

class ImpairmentApiTest : public testing::Test {
 protected:
  ImpairmentApiTest() { call("POST", R"({"name":"a"})", {}, "/v1/vms"); }
  json call(const char* method, const std::string& body = {},
            const std::multimap<std::string, std::string>& query = {},
            const std::string& path = kImpairmentsPath) {
    const ApiResponse response =
        handler_.handle({.method = method, .path = path, .query = query, .body = body});
    status_ = response.status;
    const auto value = parse_json(response.body);
    EXPECT_TRUE(value) << response.body;
    return value ? *value : json();
  }

  FakeManagement management_;
  ApiHandler handler_{management_};
  int status_ = 0;
};

TEST_F(ImpairmentApiTest, SetsShowsAndClears) {
  const json set = call("POST", R"({"vm":"a","peer":"b","loss_ppm":1000,"seed":7})");
  EXPECT_EQ(status_, 201);
  EXPECT_EQ(set.at("loss_ppm"), 1000);
  EXPECT_EQ(set.at("lost"), 0);
  call("POST", R"({"vm":"a","peer":"b","delay_us":20})");
  EXPECT_EQ(call("GET").at("impairments").size(), 1u);
  EXPECT_EQ(call("GET", {}, {}, "/v1/status").at("impairments"), 1);
  call("DELETE", {}, {{"vm", "b"}});
  EXPECT_EQ(status_, 404);
  EXPECT_EQ(call("GET").at("impairments").size(), 1u);
  call("DELETE", {}, {{"vm", "a"}});
  EXPECT_EQ(status_, 200);
  EXPECT_TRUE(call("GET").at("impairments").empty());
  call("POST", R"({"vm":"a","rnr_ppm":1})");
  EXPECT_EQ(call("GET").at("impairments")[0].at("peer"), "any");
  call("DELETE");
  EXPECT_TRUE(call("GET").at("impairments").empty());
}

TEST_F(ImpairmentApiTest, ReplacesWhatIsTowardsTheSameGid) {
  call("POST", R"({"vm":"a","peer":"fe80::1","loss_ppm":1})");
  const json set = call("POST", R"({"vm":"a","peer":"FE80:0:0:0:0:0:0:1","loss_ppm":2})");
  EXPECT_EQ(set.at("peer"), "fe80::1");
  call("POST", R"({"vm":"a","peer":"::ffff:10.77.0.1","loss_ppm":1})");
  EXPECT_EQ(call("POST", R"({"vm":"a","peer":"10.77.0.1","loss_ppm":2})").at("peer"),
            "::ffff:10.77.0.1");
  EXPECT_EQ(call("GET").at("impairments").size(), 2u);
}

TEST_F(ImpairmentApiTest, RefusesWhatIsNone) {
  for (const char* bad : {"",
                          "[]",
                          "{}",
                          R"({"vm":"a"})",
                          R"({"vm":"A","loss_ppm":1})",
                          R"({"vm":"a","loss_ppm":1000001})",
                          R"({"vm":"a","loss_ppm":-1})",
                          R"({"vm":"a","loss_ppm":0.5})",
                          R"({"vm":"a","loss_ppm":NaN})",
                          R"({"vm":"a","loss_ppm":"1"})",
                          R"({"vm":"a","loss_ppm":1,"loss_ppm":2000000})",
                          R"({"vm":"a","loss_ppm":1e400})",
                          R"({"vm":"a","loss_ppm":1,"seed":-1})",
                          R"({"vm":"a","loss_ppm":1,"seed":18446744073709551616})",
                          R"({"vm":7,"loss_ppm":1})",
                          R"({"vm":"a","delay_us":18446744073709551615})",
                          R"({"vm":"a","peer":"","loss_ppm":1})",
                          R"({"vm":"a","delay_us":10000001})",
                          R"({"vm":"a","peer":"../x","loss_ppm":1})",
                          R"({"vm":"a","loss_ppm":1,"x":1})"}) {
    call("POST", bad);
    EXPECT_EQ(status_, 400) << bad;
  }
  call("POST", R"({"vm":"c","loss_ppm":1})");
  EXPECT_EQ(status_, 404);
  call("PATCH");
  EXPECT_EQ(status_, 405);
  call("DELETE", {}, {{"vm", "../a"}});
  EXPECT_EQ(status_, 400);
  call("DELETE", {}, {{"peer", "a"}});
  EXPECT_EQ(status_, 400);
  call("GET", {}, {{"vm", "a"}});
  EXPECT_EQ(status_, 400);
}

}  // namespace
}  // namespace paravane::api
