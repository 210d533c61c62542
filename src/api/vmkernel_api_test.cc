// The requests about VMkernel interfaces, settings and rulesets.

#include "api/vmkernel_api.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "api/vmkernel_json.h"
#include "json/json_text.h"
#include "testing/fake_management.h"

namespace paravane::api {
namespace {

using nlohmann::json;

class VmkernelApiTest : public testing::Test {
 protected:
  json call(const char* method, const std::string& path, const std::string& body = {}) {
    const ApiResponse response = handler_.handle(
        {.method = method, .path = std::string(kVmkernelConfigurationPath) + path, .body = body});
    status_ = response.status;
    const auto value = parse_json(response.body);
    EXPECT_TRUE(value) << response.body;
    return value ? *value : json();
  }

  FakeManagement management_;
  ApiHandler handler_{management_};
  int status_ = 0;
};

TEST_F(VmkernelApiTest, MakesChangesAndRemovesInterfaces) {
  const json made =
      call("POST", "/vmknics", R"({"name":"vmk1","port_group":"pg","ipv4":"192.168.1.1/24"})");
  EXPECT_EQ(status_, 201);
  EXPECT_EQ(made.at("ipv4"), "192.168.1.1/24");
  EXPECT_EQ(call("PATCH", "/vmknics/vmk1", R"({"ipv4":null})").at("ipv4"), nullptr);
  EXPECT_EQ(call("GET", "").at("vmknics").size(), 1u);
  call("DELETE", "/vmknics/vmk1");
  EXPECT_EQ(status_, 200);
  call("DELETE", "/vmknics/vmk1");
  EXPECT_EQ(status_, 404);
}

TEST_F(VmkernelApiTest, SetsSettingsAndRulesets) {
  call("PATCH", "/settings", R"({"path":"/Net/PVRDMAVmknic","value":"vmk1"})");
  EXPECT_EQ(status_, 200);
  call("PATCH", "/rulesets", R"({"name":"pvrdma","enabled":true})");
  EXPECT_EQ(status_, 200);
  const auto all = vmkernel_configuration_from_json(call("GET", ""));
  ASSERT_TRUE(all);
  EXPECT_EQ(*all, management_.configuration);
}

TEST_F(VmkernelApiTest, SaysWhatTheAdapterOfChannelsLocks) {
  management_.configuration.hca = {
      .device = "mlx5_0", .bytes_per_host = 7, .locks_vms = true, .most = 65'536};
  EXPECT_EQ(vmkernel_configuration_from_json(call("GET", ""))->hca, management_.configuration.hca);
  management_.configuration.hca.most.reset();
  json all = call("GET", "");
  EXPECT_EQ(vmkernel_configuration_from_json(all)->hca, management_.configuration.hca);
  all.erase("hca");
  EXPECT_EQ(vmkernel_configuration_from_json(all)->hca, model::HcaMemory())
      << "a daemon of an earlier release does not say it";
}

TEST_F(VmkernelApiTest, RefusesWhatIsNotAsItShouldBe) {
  const auto refused = [this](const char* method, const std::string& path,
                              const std::string& body) {
    call(method, path, body);
    return status_;
  };
  EXPECT_EQ(refused("POST", "/vmknics", R"({"name":"vmk0","port_group":"pg"})"), 400);
  EXPECT_EQ(refused("POST", "/vmknics", R"({"name":"vmk1"})"), 400);
  EXPECT_EQ(refused("POST", "/vmknics", R"({"name":"vmk1","port_group":"pg","x":1})"), 400);
  EXPECT_EQ(refused("POST", "/vmknics", R"({"name":"vmk1","port_group":"pg","ipv4":"8.8.8.8/24"})"),
            400);
  EXPECT_EQ(refused("PATCH", "/vmknics/vmk1", "{}"), 400);
  EXPECT_EQ(refused("PATCH", "/vmknics/eth0", R"({"ipv4":null})"), 400);
  EXPECT_EQ(refused("PATCH", "/rulesets", R"({"name":"pvrdma"})"), 400);
  EXPECT_EQ(refused("PATCH", "/rulesets", R"({"name":"pvrdma","enabled":1})"), 400);
  EXPECT_EQ(refused("PATCH", "/settings", R"({"path":"/x"})"), 400);
  EXPECT_EQ(refused("GET", "/settings", ""), 405);
  EXPECT_EQ(refused("GET", "/nothing", ""), 404);
}

}  // namespace
}  // namespace paravane::api
