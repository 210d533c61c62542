// The requests about switches and port groups.

#include "api/network_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "json/json_text.h"
#include "testing/fake_management.h"

namespace paravane::api {
namespace {

using nlohmann::json;

class NetworkApiTest : public testing::Test {
 protected:
  json call(const char* method, const std::string& path, const std::string& body = {}) {
    const ApiResponse response =
        handler_.handle({.method = method, .path = path, .query = {}, .body = body});
    status_ = response.status;
    const auto value = parse_json(response.body);
    EXPECT_TRUE(value) << response.body;
    return value ? *value : json();
  }
  std::string refused(const char* method, const std::string& path, const std::string& body = {}) {
    return call(method, path, body).value("/error/code"_json_pointer, std::string("none"));
  }

  FakeManagement management_;
  ApiHandler handler_{management_};
  int status_ = 0;
};

TEST_F(NetworkApiTest, MakesShowsAndDeletesASwitch) {
  const json made = call("POST", "/v1/vds", R"({"name":"lan","mtu":9000})");
  EXPECT_EQ(status_, 201);
  EXPECT_EQ(made.at("mtu"), 9000);
  EXPECT_EQ(made.at("form"), "none");
  EXPECT_EQ(call("GET", "/v1/vds").at("vds").size(), 1u);
  EXPECT_EQ(call("GET", "/v1/vds/lan").at("name"), "lan");
  EXPECT_EQ(call("PATCH", "/v1/vds/lan", R"({"mtu":1500})").at("mtu"), 1500);
  EXPECT_EQ(refused("POST", "/v1/vds", R"({"name":"lan"})"), "exists");
  call("DELETE", "/v1/vds/lan");
  EXPECT_EQ(status_, 200);
  EXPECT_EQ(refused("GET", "/v1/vds/lan"), "not_found");
}

TEST_F(NetworkApiTest, AQuestionMendsNothingAndARepairSaysWhatItDid) {
  call("POST", "/v1/vds", R"({"name":"lan"})");
  call("GET", "/v1/vds");
  call("GET", "/v1/vds/lan");
  EXPECT_EQ(management_.repairs, 0u);
  const json repaired = call("POST", "/v1/repair");
  EXPECT_EQ(status_, 200);
  EXPECT_EQ(management_.repairs, 1u);
  EXPECT_EQ(repaired.at("mended"),
            json::parse(R"([{"interface":"pvs-lan","text":"it was down","vds":"lan"}])"));
  EXPECT_EQ(repaired.at("vds").size(), 1u);
  EXPECT_EQ(refused("GET", "/v1/repair"), "method_not_allowed");
}

TEST_F(NetworkApiTest, ChangesTheHostsOfASwitch) {
  call("POST", "/v1/vds", R"({"name":"lan"})");
  const json added = call("POST", "/v1/vds/lan/hosts", R"({"host":"h1","uplink":"eth1"})");
  EXPECT_EQ(status_, 201);
  EXPECT_EQ(added.at("hosts"), json::parse(R"([{"host":"h1","uplink":"eth1"}])"));
  call("PATCH", "/v1/vds/lan/hosts/h1", R"({"uplink":""})");
  EXPECT_EQ(management_.network.switches["lan"].hosts["h1"], "");
  EXPECT_EQ(refused("PATCH", "/v1/vds/lan/hosts/h2", R"({"uplink":""})"), "not_found");
  EXPECT_EQ(refused("PATCH", "/v1/vds/lan/hosts/h1", R"({"uplink":"lo"})"), "invalid_request");
  call("DELETE", "/v1/vds/lan/hosts/h1");
  EXPECT_EQ(status_, 200);
  EXPECT_TRUE(management_.network.switches["lan"].hosts.empty());
}

TEST_F(NetworkApiTest, MakesShowsAndDeletesAPortGroup) {
  EXPECT_EQ(refused("POST", "/v1/portgroups", R"({"name":"a","vds":"lan"})"), "not_found");
  call("POST", "/v1/vds", R"({"name":"lan"})");
  call("POST", "/v1/portgroups", R"({"name":"a","vds":"lan","vlan":10})");
  EXPECT_EQ(status_, 201);
  EXPECT_EQ(call("GET", "/v1/portgroups").at("portgroups")[0].at("vlan"), 10);
  EXPECT_EQ(call("GET", "/v1/portgroups/a").at("vds"), "lan");
  EXPECT_EQ(refused("DELETE", "/v1/vds/lan"), "in_use");
  EXPECT_EQ(status_, 409);
  call("DELETE", "/v1/portgroups/a");
  EXPECT_EQ(status_, 200);
  call("DELETE", "/v1/vds/lan");
  EXPECT_EQ(status_, 200);
}

TEST_F(NetworkApiTest, SetsTheRoceOfAPortGroup) {
  call("POST", "/v1/vds", R"({"name":"lan"})");
  EXPECT_EQ(call("POST", "/v1/portgroups", R"({"name":"a","vds":"lan","vlan":10})").at("roce"),
            "off");
  EXPECT_EQ(call("PATCH", "/v1/portgroups/a", R"({"roce":"native"})").at("roce"), "native");
  EXPECT_EQ(status_, 200);
  EXPECT_TRUE(management_.network.port_groups["a"].native_roce);
  EXPECT_EQ(management_.network.port_groups["a"].vlan, 10u) << "all else stays";
  EXPECT_EQ(call("PATCH", "/v1/portgroups/a", R"({"roce":"off"})").at("roce"), "off");
  EXPECT_EQ(refused("PATCH", "/v1/portgroups/a", R"({"roce":"on"})"), "invalid_request");
  EXPECT_EQ(refused("PATCH", "/v1/portgroups/a", R"({"roce":true})"), "invalid_request");
  EXPECT_EQ(refused("PATCH", "/v1/portgroups/a", R"({"roce":"off","vlan":1})"), "invalid_request");
  EXPECT_EQ(refused("PATCH", "/v1/portgroups/b", R"({"roce":"off"})"), "not_found");
}

TEST_F(NetworkApiTest, SetsWhetherAPortGroupIsRouted) {
  call("POST", "/v1/vds", R"({"name":"lan"})");
  EXPECT_EQ(
      call("POST", "/v1/portgroups", R"({"name":"a","vds":"lan","roce":"native"})").at("routed"),
      "off");
  EXPECT_EQ(call("PATCH", "/v1/portgroups/a", R"({"routed":"on"})").at("routed"), "on");
  EXPECT_TRUE(management_.network.port_groups["a"].routed);
  EXPECT_TRUE(management_.network.port_groups["a"].native_roce) << "all else stays";
  const auto both = call("PATCH", "/v1/portgroups/a", R"({"routed":"off","roce":"off"})");
  EXPECT_EQ(both.at("routed"), "off");
  EXPECT_EQ(both.at("roce"), "off");
  for (const char* bad : {R"({"routed":"native"})", R"({"routed":true})", R"({"routed":""})",
                          R"({})", R"({"routed":"on","mtu":1500})"}) {
    EXPECT_EQ(refused("PATCH", "/v1/portgroups/a", bad), "invalid_request") << bad;
  }
  EXPECT_EQ(refused("POST", "/v1/portgroups", R"({"name":"b","vds":"lan","routed":"yes"})"),
            "invalid_request");
}

TEST_F(NetworkApiTest, RefusesWhatItDoesNotKnow) {
  call("POST", "/v1/vds", R"({"name":"lan"})");
  EXPECT_EQ(refused("PUT", "/v1/vds"), "method_not_allowed");
  EXPECT_EQ(refused("PUT", "/v1/vds/lan"), "method_not_allowed");
  EXPECT_EQ(refused("GET", "/v1/vds/lan/hosts"), "method_not_allowed");
  EXPECT_EQ(refused("GET", "/v1/vds/lan/hosts/h1"), "method_not_allowed");
  EXPECT_EQ(refused("PATCH", "/v1/portgroups"), "method_not_allowed");
  EXPECT_EQ(refused("PUT", "/v1/portgroups/a"), "method_not_allowed");
  EXPECT_EQ(refused("PATCH", "/v1/portgroups/a"), "invalid_request");
  EXPECT_EQ(refused("GET", "/v1/vds/lan/other"), "unknown_path");
  EXPECT_EQ(refused("GET", "/v1/vdsx"), "unknown_path");
  EXPECT_EQ(refused("GET", "/v1/vds/LAN"), "invalid_request");
  EXPECT_EQ(refused("GET", "/v1/portgroups/a/b"), "invalid_request");
  EXPECT_EQ(refused("DELETE", "/v1/vds/lan/hosts/H1"), "invalid_request");
  EXPECT_EQ(refused("POST", "/v1/vds", "{"), "invalid_request");
  EXPECT_EQ(refused("POST", "/v1/vds/lan/hosts", R"({"uplink":"eth1"})"), "invalid_request");
  EXPECT_EQ(handler_.handle({.method = "GET", .path = "/v1/vds", .query = {{"x", "1"}}}).status,
            400);
}

}  // namespace
}  // namespace paravane::api
