#include "api/storage_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/vm_machine.h"

namespace paravane::api {
namespace {

using nlohmann::json;
using testing::HasSubstr;

model::Vmhba a_vmhba() {
  return {.name = "vmhba32",
          .adapter = "mlx4_0",
          .device = "MT26428",
          .description = "ConnectX IB QDR, PCIe 2.0 5.0GT/s",
          .port = 1,
          .port_guid = 0x0250560001a2b301,
          .initiator = "0xfe800000000000000250560001a2b301",
          .setting = {.port_group = "storage", .ipv4 = "192.0.2.9/24", .gateway = "192.0.2.1"},
          .is_up = true,
          .targets = 2,
          .counters = {{"logins", 3}},
          .problem = "one"};
}

model::SrpTarget a_target() {
  return {.vmhba = "vmhba32",
          .address = "fe80::1",
          .service = 0x5254000000770001,
          .id_ext = 0xf000000000000001,
          .ioc_guid = 2};
}

model::LunPath a_path() {
  return {.name = "vmhba32:C0:T1:L2",
          .vmhba = "vmhba32",
          .target = 1,
          .lun = 2,
          .device = "naa.1",
          .adapter_identifier = "srp.1",
          .target_identifier = "srp.1:2",
          .state = model::PathState::kStandby,
          .is_preferred = true,
          .problem = "two"};
}

model::ScsiDevice a_device() {
  return {.name = "naa.1",
          .display_name = "LIO-ORG SRP Disk (naa.1)",
          .vendor = "LIO-ORG",
          .model = "disk",
          .revision = "4.0",
          .bytes = 1ULL << 40,
          .block_bytes = 512,
          .is_read_only = true,
          .is_thin = true,
          .working_path = "vmhba32:C0:T1:L2",
          .paths = {a_path()},
          .socket = "/run/paravane/vms/naa.1.lun",
          .vm = "db1",
          .is_open = true,
          .counters = {{"reads", 7}},
          .problem = "three"};
}

TEST(StorageJson, ValuesAreReadAsTheyWereWritten) {
  EXPECT_EQ(*vmhba_from_json(to_json(a_vmhba())), a_vmhba());
  EXPECT_EQ(to_json(a_vmhba()).at("port_guid"), "0x0250560001a2b301");
  EXPECT_EQ(*srp_target_from_json(to_json(a_target())), a_target());
  const model::SrpTarget by_port{
      .vmhba = "vmhba33", .address = "192.0.2.7", .port = 65535, .id_ext = 1, .ioc_guid = 2};
  EXPECT_EQ(*srp_target_from_json(to_json(by_port)), by_port);
  const model::SrpTargetStatus status{.target = a_target(),
                                      .number = 1,
                                      .is_named = true,
                                      .description = "Linux SRP target",
                                      .state = model::TargetState::kRefused,
                                      .luns = 4,
                                      .problem = "no"};
  EXPECT_EQ(*srp_target_status_from_json(to_json(status)), status);
  EXPECT_EQ(*lun_path_from_json(to_json(a_path())), a_path());
  EXPECT_EQ(*scsi_device_from_json(to_json(a_device())), a_device());
  EXPECT_EQ(*vmhba_setting_from_json(to_json(a_vmhba().setting)), a_vmhba().setting);
}

template <typename T>
void expect_needed(const T& value, Result<T> (*read)(const json&),
                   std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    json without = to_json(value);
    without.erase(key);
    EXPECT_FALSE(read(without)) << key;
    json odd = to_json(value);
    odd[key] = json::array();
    if (std::string_view(key) == "paths") odd[key] = json::array({1});
    EXPECT_FALSE(read(odd)) << key;
  }
  json more = to_json(value);
  more["new"] = 1;
  EXPECT_TRUE(read(more));
}

TEST(StorageJson, AnIncompleteAnswerIsRefused) {
  expect_needed(a_vmhba(), vmhba_from_json,
                {"name", "adapter", "device", "port", "port_guid", "initiator", "targets"});
  expect_needed(model::SrpTargetStatus{.target = a_target()}, srp_target_status_from_json,
                {"vmhba", "address", "id_ext", "ioc_guid", "number", "state", "luns"});
  expect_needed(a_path(), lun_path_from_json, {"name", "vmhba", "target", "lun", "state"});
  expect_needed(a_device(), scsi_device_from_json, {"name", "bytes", "block_bytes", "paths"});
  json odd = to_json(a_path());
  odd["state"] = "on";
  EXPECT_FALSE(lun_path_from_json(odd));
  odd = to_json(a_device());
  for (std::size_t i = 0; i <= model::kMaxStorageCounters; ++i)
    odd["counters"]["c" + std::to_string(i)] = i;
  EXPECT_FALSE(scsi_device_from_json(odd));
}

TEST(StorageJson, ARequestIsStrict) {
  for (const char* odd : {R"({"port_group":1})", R"({"ipv6":"a"})", R"({"ipv4":"192.0.2.9/24"})",
                          R"({"port_group":"a","ipv4":"x"})", R"({"port_group":"A"})", "[]", "1"}) {
    EXPECT_FALSE(vmhba_setting_from_json(json::parse(odd))) << odd;
  }
  EXPECT_EQ(*vmhba_setting_from_json(json::object()), model::VmhbaSetting());
  json target = to_json(a_target());
  for (const auto& [key, value] :
       std::initializer_list<std::pair<const char*, json>>{{"id_ext", "1"},
                                                           {"id_ext", "0x1"},
                                                           {"id_ext", 1},
                                                           {"id_ext", "0x000000000000000g"},
                                                           {"id_ext", "0x0000000000000000"},
                                                           {"service", 1},
                                                           {"service", nullptr},
                                                           {"port", 1},
                                                           {"port", 65536},
                                                           {"port", -1},
                                                           {"vmhba", "vmhba1"},
                                                           {"address", "10.0.0.1"},
                                                           {"new", 1}}) {
    json odd = target;
    odd[key] = value;
    EXPECT_FALSE(srp_target_from_json(odd)) << odd;
  }
}

TEST(StorageJson, ARescanIsOfOneOrOfAll) {
  EXPECT_EQ(*rescan_request_from_json(json::object()), RescanRequest{});
  EXPECT_EQ(*rescan_request_from_json({{"vmhba", "vmhba32"}}), RescanRequest{.vmhba = "vmhba32"});
  EXPECT_EQ(to_json(RescanRequest{}), json::object());
  for (const json& odd : {json({{"vmhba", "all"}}), json({{"vmhba", 1}}), json({{"all", true}})}) {
    EXPECT_FALSE(rescan_request_from_json(odd)) << odd;
  }
}

TEST(StorageJson, AStoredValueMayHaveMoreAndMustBeRight) {
  json setting = to_json(a_vmhba().setting);
  setting["new"] = 1;
  EXPECT_EQ(*kept_vmhba_setting_from_json(setting), a_vmhba().setting);
  setting["gateway"] = "10.0.0.1";
  EXPECT_FALSE(kept_vmhba_setting_from_json(setting));
  json target = to_json(a_target());
  target["new"] = 1;
  EXPECT_EQ(*kept_srp_target_from_json(target), a_target());
  target["id_ext"] = "0x0000000000000000";
  EXPECT_FALSE(kept_srp_target_from_json(target));
  EXPECT_EQ(srp_target_document("vmhba32", 3), "vmhba32.3");
}

}  // namespace
}  // namespace paravane::api
