// The requests about storage adapters.

#include "api/storage_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "api/storage_json.h"
#include "json/json_text.h"
#include "testing/fake_management.h"

namespace paravane::api {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kTarget =
    R"({"vmhba":"vmhba32","address":"fe80::1","service":"0x5254000000770001",)"
    R"("id_ext":"0x5254000000770001","ioc_guid":"0x5254000000770001"})";

class StorageApiTest : public testing::Test {
 protected:
  StorageApiTest() { management_.vmhbas = {{.name = "vmhba32", .adapter = "mlx4_0"}}; }
  json call(const char* method, const std::string& path, const std::string& body = {},
            std::multimap<std::string, std::string> query = {}) {
    const ApiResponse response = handler_.handle(
        {.method = method, .path = "/v1/storage" + path, .query = std::move(query), .body = body});
    status_ = response.status;
    const auto value = parse_json(response.body);
    EXPECT_TRUE(value) << response.body;
    return value ? *value : json();
  }
  int status_of(const char* method, const std::string& path, const std::string& body = {},
                std::multimap<std::string, std::string> query = {}) {
    call(method, path, body, std::move(query));
    return status_;
  }

  FakeManagement management_;
  ApiHandler handler_{management_};
  int status_ = 0;
};

TEST_F(StorageApiTest, ListsAndSetsVmhbas) {
  const json list = call("GET", "/vmhbas").at("vmhbas");
  EXPECT_EQ(status_, 200);
  ASSERT_THAT(list, SizeIs(1));
  EXPECT_EQ(*vmhba_from_json(list[0]), management_.vmhbas[0]);
  const json set = call("PATCH", "/vmhbas/vmhba32",
                        R"({"port_group":"storage","ipv4":"192.0.2.9/24","gateway":"192.0.2.1"})");
  EXPECT_EQ(status_, 200);
  EXPECT_EQ(set.at("ipv4"), "192.0.2.9/24");
  EXPECT_EQ(management_.vmhbas[0].setting.port_group, "storage");
  EXPECT_EQ(status_of("PATCH", "/vmhbas/vmhba32", R"({"port_group":"storage"})"), 200);
  EXPECT_EQ(management_.vmhbas[0].setting, (model::VmhbaSetting{.port_group = "storage"}))
      << "absent members are cleared";
  EXPECT_EQ(status_of("PATCH", "/vmhbas/vmhba33", "{}"), 404);
  EXPECT_EQ(status_of("PATCH", "/vmhbas/vmhba1", "{}"), 400);
  EXPECT_EQ(status_of("PATCH", "/vmhbas/", "{}"), 400);
  EXPECT_EQ(status_of("PATCH", "/vmhbas/vmhba32", R"({"ipv4":"192.0.2.9/24"})"), 400);
  EXPECT_EQ(status_of("PATCH", "/vmhbas/vmhba32"), 400);
}

TEST_F(StorageApiTest, AddsListsAndRemovesTargets) {
  EXPECT_EQ(call("GET", "/targets"), json({{"targets", json::array()}}));
  EXPECT_EQ(call("POST", "/targets", kTarget), json::object());
  EXPECT_EQ(status_, 201);
  const json list = call("GET", "/targets").at("targets");
  ASSERT_THAT(list, SizeIs(1));
  EXPECT_EQ(*srp_target_status_from_json(list[0]), management_.srp_targets[0]);
  EXPECT_EQ(status_of("POST", "/targets", kTarget), 409);
  EXPECT_EQ(status_of("DELETE", "/targets/vmhba32/1"), 404);
  management_.srp_targets[0].luns = 1;
  EXPECT_EQ(status_of("DELETE", "/targets/vmhba32/0"), 409);
  EXPECT_EQ(status_of("DELETE", "/targets/vmhba32/0", "", {{"force", "yes"}}), 400);
  EXPECT_EQ(status_of("DELETE", "/targets/vmhba32/0", "", {{"force", "true"}}), 200);
  EXPECT_THAT(management_.srp_targets, IsEmpty());
}

TEST_F(StorageApiTest, ListsDevicesAndPaths) {
  management_.lun_paths = {{.name = "vmhba32:C0:T0:L0", .vmhba = "vmhba32"}};
  management_.scsi_devices = {{.name = "naa.1", .paths = management_.lun_paths}};
  EXPECT_EQ(*scsi_device_from_json(call("GET", "/devices").at("devices").at(0)),
            management_.scsi_devices[0]);
  EXPECT_EQ(*lun_path_from_json(call("GET", "/paths").at("paths").at(0)), management_.lun_paths[0]);
}

TEST_F(StorageApiTest, RescansOneOrAll) {
  EXPECT_EQ(status_of("POST", "/rescan", "{}"), 200);
  EXPECT_EQ(status_of("POST", "/rescan", R"({"vmhba":"vmhba32"})"), 200);
  EXPECT_EQ(status_of("POST", "/rescan", R"({"vmhba":"vmhba33"})"), 404);
  EXPECT_EQ(status_of("POST", "/rescan", R"({"vmhba":"all"})"), 400);
  EXPECT_EQ(status_of("POST", "/rescan"), 400);
  EXPECT_THAT(management_.rescans, ElementsAre("all", "vmhba32"));
}

TEST_F(StorageApiTest, RefusesWhatIsNotAsItShouldBe) {
  for (const char* path : {"/vmhbas", "/devices", "/paths"}) {
    EXPECT_EQ(status_of("POST", path, "{}"), 405) << path;
    EXPECT_EQ(status_of("GET", path, "", {{"all", "1"}}), 400) << path;
  }
  EXPECT_EQ(status_of("PUT", "/rescan"), 405);
  EXPECT_EQ(status_of("DELETE", "/targets"), 405);
  EXPECT_EQ(status_of("GET", "/targets/vmhba32/0"), 405);
  EXPECT_EQ(status_of("PUT", "/vmhbas/vmhba32", "{}"), 405);
  for (const char* path : {"/targets/", "/targets/vmhba32", "/targets/vmhba32/",
                           "/targets/vmhba32/x", "/targets/vmhba32/-1", "/targets/vmhba32/0/1",
                           "/targets/vmhba32/4294967296", "/targets//0"}) {
    EXPECT_EQ(status_of("DELETE", path), 400) << path;
  }
  EXPECT_EQ(status_of("POST", "/targets", "{}"), 400);
  EXPECT_EQ(status_of("GET", ""), 404);
  EXPECT_EQ(status_of("GET", "/vmhba"), 404);
}

TEST_F(StorageApiTest, PassesOnWhatIsRefused) {
  management_.fault =
      model::ApiError{.code = model::ApiErrorCode::kBusy, .message = "no", .remedy = ""};
  for (const char* path : {"/vmhbas", "/targets", "/devices", "/paths"}) {
    EXPECT_EQ(status_of("GET", path), 503) << path;
  }
  EXPECT_EQ(status_of("POST", "/rescan", "{}"), 503);
}

}  // namespace
}  // namespace paravane::api
