#include "api/machine_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/machine_json.h"
#include "api/nic_dcb_json.h"
#include "testing/fake_management.h"

namespace paravane::api {
namespace {

using nlohmann::json;
using testing::HasSubstr;

model::PhysicalNic some_nic() {
  return {.name = "vmnic4",
          .identity = "pci 0000:03:00.0",
          .linux_name = "eth4",
          .pci = "0000:03:00.0",
          .driver = "mlx5_core",
          .mac = "7c:fe:90:00:00:01",
          .description = "Mellanox Technologies MT27700 Family [ConnectX-4] (eth4)",
          .team = "bond0",
          .mtu = 1500,
          .speed_mbps = 100'000,
          .full_duplex = true,
          .up = true,
          .carrier = true,
          .pause = {{.set = {.rx = true},
                     .auto_negotiation = true,
                     .negotiated = {{.rx = false, .tx = true}}}},
          .pfc = std::uint8_t{0x88},
          .dcb = true};
}

model::NicDcb some_dcb() {
  return {.name = "vmnic4",
          .mode = model::DcbxMode::kIeee,
          .managed_by_host = true,
          .ets = {{.willing = true,
                   .classes = 8,
                   .credit_based_shaper = true,
                   .tx_percent = {1, 2, 3, 4, 5, 6, 7, 72},
                   .rx_percent = {72, 7, 6, 5, 4, 3, 2, 1},
                   .algorithms = {0, 1, 2, 255, 2, 2, 2, 2},
                   .class_of_priority = {1, 0, 2, 3, 4, 5, 6, 7},
                   .recommended_percent = {100},
                   .recommended_algorithms = {2},
                   .recommended_class_of_priority = {7}}},
          .pfc = {{.classes = 4,
                   .priorities = 0x88,
                   .bypasses_macsec = true,
                   .delay = 65'535,
                   .sent = {1},
                   .received = {0, ~std::uint64_t{0}}}},
          .apps = {{.selector = model::DcbSelector::kDscp, .protocol = 26, .priority = 3}}};
}

model::RdmaDevice some_device() {
  return {.name = "vmrdma0",
          .identity = "pci 0000:03:00.0 port 1",
          .linux_name = "mlx5_0",
          .port = 1,
          .driver = "mlx5_core",
          .description = "MT27700 Family [ConnectX-4]",
          .link_layer = "Ethernet",
          .state = model::RdmaState::kActive,
          .mtu = 1024,
          .speed_mbps = 100'000,
          .paired_link = "eth4",
          .paired_uplink = "vmnic4",
          .roce_v1 = false,
          .roce_v2 = true,
          .iwarp = false,
          .trunks = {"h2", "h3"},
          .uplink_of = "lan"};
}

class MachineApi : public testing::Test {
 protected:
  void SetUp() override {
    management_.machine = {.nics = {some_nic()}, .rdma_devices = {some_device()}};
    management_.dcb = some_dcb();
    management_.rdma_counters = {.name = "vmrdma0",
                                 .counters = {{"port_rcv_packets", 7}},
                                 .hw_counters = {{"out_of_sequence", 1}},
                                 .resources = {{"qp", 2}}};
  }
  json get(const std::string& path, int status = 200) {
    const ApiResponse response = handler_.handle({.method = "GET", .path = path});
    EXPECT_EQ(response.status, status) << response.body;
    return json::parse(response.body);
  }

  FakeManagement management_;
  ApiHandler handler_{management_};
};

TEST_F(MachineApi, ListsNicsAndRdmaDevices) {
  const json nics = get("/v1/host/nics").at("nics");
  ASSERT_EQ(nics.size(), 1u);
  EXPECT_EQ(*nic_from_json(nics[0]), some_nic());
  const json devices = get("/v1/host/rdma-devices").at("rdma_devices");
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(*rdma_device_from_json(devices[0]), some_device());
}

TEST_F(MachineApi, TellsWhatADeviceHasCounted) {
  EXPECT_EQ(*rdma_stats_from_json(get("/v1/host/rdma-devices/vmrdma0/stats")),
            management_.rdma_counters);
  EXPECT_THAT(get("/v1/host/rdma-devices/vmrdma7/stats", 404).dump(), HasSubstr("vmrdma7"));
  EXPECT_THAT(get("/v1/host/rdma-devices/mlx5_0/stats", 400).dump(), HasSubstr("vmrdma1"));
}

TEST_F(MachineApi, TellsTheDcbOfANic) {
  EXPECT_EQ(*nic_dcb_from_json(get("/v1/host/nics/vmnic4/dcb")), some_dcb());
  EXPECT_THAT(get("/v1/host/nics/vmnic7/dcb", 404).dump(), HasSubstr("vmnic7"));
  get("/v1/host/nics/two words/dcb", 400);
  get("/v1/host/nics/vmnic4", 404);
  get("/v1/host/nics//dcb", 404);
}

TEST_F(MachineApi, RefusesWhatIsNotThere) {
  get("/v1/host", 404);
  get("/v1/host/rdma-devices/", 404);
  get("/v1/host/rdma-devices/vmrdma0", 404);
  get("/v1/host/rdma-devices//stats", 404);
  EXPECT_EQ(handler_.handle({.method = "POST", .path = kNicsPath}).status, 405);
  EXPECT_EQ(handler_.handle({.method = "GET", .path = kNicsPath, .query = {{"a", "b"}}}).status,
            400);
  management_.fault =
      model::ApiError{.code = model::ApiErrorCode::kBusy, .message = "no", .remedy = ""};
  get("/v1/host/nics", 503);
}

TEST(MachineJson, KeepsAMachine) {
  const model::Machine machine{.nics = {some_nic()},
                               .rdma_devices = {some_device(), some_device()}};
  EXPECT_EQ(*machine_from_json(to_json(machine)), machine);
}

TEST(MachineJson, RefusesWhatIsNoMachine) {
  json state = to_json(some_device());
  state["state"] = "Fast";
  EXPECT_FALSE(rdma_device_from_json(state));
  json many = {{"nics", json::array()}};
  for (std::size_t i = 0; i <= model::kMaxNics; ++i) many["nics"].push_back(to_json(some_nic()));
  EXPECT_THAT(machine_from_json(many).error().message, HasSubstr("more than 128"));
  EXPECT_FALSE(machine_from_json(json{{"nics", {{{"name", 1}}}}}));
  EXPECT_FALSE(rdma_stats_from_json({{"name", "vmrdma0"}, {"counters", {{"a", -1}}}}));
}

TEST(MachineJson, ADaemonOfAnEarlierReleaseDoesNotSayWhatADeviceIsUsedFor) {
  json device = to_json(some_device());
  device["trunks"] = {"h2", 3};
  EXPECT_FALSE(rdma_device_from_json(device));
  device.erase("trunks");
  device.erase("uplink_of");
  EXPECT_TRUE(rdma_device_from_json(device)->trunks.empty());
  EXPECT_EQ(rdma_device_from_json(device)->uplink_of, "");
}

TEST(MachineJson, KeepsWhatADriverDoesNotReport) {
  model::PhysicalNic nic = some_nic();
  nic.pause->negotiated.reset();
  EXPECT_EQ(*nic_from_json(to_json(nic)), nic);
  nic.pause.reset();
  nic.pfc.reset();
  EXPECT_EQ(*nic_from_json(to_json(nic)), nic);
  model::NicDcb dcb = some_dcb();
  dcb.ets.reset();
  dcb.pfc.reset();
  EXPECT_EQ(*nic_dcb_from_json(to_json(dcb)), dcb);
}

TEST(MachineJson, RefusesWhatIsNoDcb) {
  const auto refused = [](const char* pointer, const json& value) {
    json dcb = to_json(some_dcb());
    dcb[json::json_pointer(pointer)] = value;
    return !nic_dcb_from_json(dcb);
  };
  EXPECT_FALSE(refused("/name", "vmnic5"));
  EXPECT_TRUE(refused("/mode", "fast"));
  EXPECT_TRUE(refused("/ets/tx_percent", {1, 2}));
  EXPECT_TRUE(refused("/ets/tx_percent/0", 256));
  EXPECT_TRUE(refused("/ets/classes", -1));
  EXPECT_TRUE(refused("/pfc/priorities/0", 8));
  EXPECT_TRUE(refused("/pfc/delay", 65'536));
  EXPECT_TRUE(refused("/apps/0/selector", "tps"));
  EXPECT_TRUE(
      refused("/apps", json::array_t(model::kMaxDcbApps + 1, to_json(some_dcb())["apps"][0])));
  json nic = to_json(some_nic());
  nic["pause"]["negotiated"] = 1;
  EXPECT_FALSE(nic_from_json(nic));
}

TEST(MachineNames, AreOfOneForm) {
  for (const char* good : {"vmrdma0", "vmrdma12", "vmrdma999"})
    EXPECT_TRUE(model::check_rdma_name(good));
  for (const char* bad :
       {"", "vmrdma", "vmrdma01", "vmrdma1000", "vmrdma-1", "vmnic0", "VMRDMA0"}) {
    EXPECT_FALSE(model::check_rdma_name(bad)) << bad;
  }
  EXPECT_TRUE(model::is_nic_name("vmnic3"));
  EXPECT_FALSE(model::is_nic_name("eth3"));
  EXPECT_EQ(model::shown_nic(some_nic()), "vmnic4 (eth4)");
  EXPECT_EQ(model::shown_nic({.name = "", .linux_name = "eth1"}), "eth1");
}

}  // namespace
}  // namespace paravane::api
