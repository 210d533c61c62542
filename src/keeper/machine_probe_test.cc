#include "keeper/machine_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "testing/temp_dir.h"

namespace paravane::keeper {
namespace {

using testing::ElementsAre;
using testing::Field;

class MachineProbeTest : public testing::Test {
 protected:
  MachineProbeTest() {
    write(dir_ / "ids",
          "# comment\n"
          "1013  Cirrus Logic\n"
          "\t00a0  GD 5430/40 [Alpine]\n"
          "15b3  Mellanox Technologies\n"
          "\t1013  MT27700 Family [ConnectX-4]\n"
          "\t\t15b3 0001  ConnectX-4 EN network interface card\n"
          "\t1015  MT27710 Family [ConnectX-4 Lx]\n"
          "15b7  Sandisk Corp\n"
          "\t1017  Somebody else's\n");
    add_device("0000:03:00.0", "0x15b3", "0x1013");
    add_device("0000:03:00.1", "0x15b3", "0x1015");
    add_device("0000:04:00.0", "0x15b3", "0x1017");
    add_device("0000:05:00.0", "15b3", "zz");
  }
  static void write(const std::filesystem::path& file, const std::string& text) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void add_device(const std::string& address, const std::string& vendor,
                  const std::string& device) {
    write(dir_ / "devices" / address / "vendor", vendor + "\n");
    write(dir_ / "devices" / address / "device", device + "\n");
  }

  TempDir dir_;
  PciNames names_{dir_ / "devices", dir_ / "ids"};
};

TEST_F(MachineProbeTest, KnowsWhatMakersCallTheirDevices) {
  using Name = PciNames::Name;
  EXPECT_EQ(names_.find("0000:03:00.0"),
            (Name{"Mellanox Technologies", "MT27700 Family [ConnectX-4]"}));
  EXPECT_EQ(names_.find("0000:03:00.1").device, "MT27710 Family [ConnectX-4 Lx]");
  EXPECT_EQ(names_.find("0000:04:00.0"), (Name{"Mellanox Technologies", ""}));
  EXPECT_EQ(names_.find("0000:05:00.0"), Name());
  EXPECT_EQ(names_.find("0000:09:00.0"), Name());
  EXPECT_EQ(names_.find(""), Name());
  EXPECT_EQ(PciNames(dir_ / "devices", dir_ / "none").find("0000:03:00.0"), Name());
}

TEST_F(MachineProbeTest, ListsCardsByTheirPlaceBeforeWhatIsNone) {
  const auto nics = to_control(
      std::vector<ethernet::Nic>{
          {.name = "a0", .kind = "veth", .driver = "veth"},
          {.name = "eth9", .driver = "mlx5_core", .pci = "0000:03:00.0", .own_mac = "02:x"},
          {.name = "eth1", .driver = "mlx4_en", .pci = "0000:02:00.0", .own_mac = "02:1"},
          {.name = "eth2", .driver = "mlx4_en", .pci = "0000:02:00.0", .own_mac = "02:2"},
          {.name = "eth0", .driver = "virtio_net", .own_mac = "02:2"},
          {.name = "usb0", .driver = "cdc_ether"}},
      names_);
  std::vector<std::string> identities;
  for (const auto& nic : nics) identities.push_back(nic.identity);
  EXPECT_THAT(identities, ElementsAre("mac 02:1", "mac 02:2", "pci 0000:03:00.0", "name a0",
                                      "name eth0", "name usb0"));
  EXPECT_EQ(nics[2].description, "Mellanox Technologies MT27700 Family [ConnectX-4] (eth9)");
  EXPECT_EQ(nics[3].description, "veth (a0)");
}

TEST_F(MachineProbeTest, TellsFlowControlAsTheDriverHasIt) {
  const auto nics = to_control(
      std::vector<ethernet::Nic>{
          {.name = "eth0",
           .pause = {{.set = {.rx = true}, .auto_negotiation = true, .negotiated = {{.tx = true}}}},
           .pfc = std::uint8_t{8},
           .dcb = true},
          {.name = "eth1"}},
      names_);
  ASSERT_EQ(nics.size(), 2U);
  EXPECT_EQ(nics[0].pause,
            (model::NicPause{
                .set = {.rx = true}, .auto_negotiation = true, .negotiated = {{.tx = true}}}));
  EXPECT_EQ(nics[0].pfc, 8);
  EXPECT_TRUE(nics[0].dcb);
  EXPECT_EQ(nics[1].pause, std::nullopt);
  EXPECT_EQ(nics[1].pfc, std::nullopt);
}

TEST_F(MachineProbeTest, TellsDcbInWordsOfTheApi) {
  ethernet::NicDcb dcb{.dcbx = 0x0D,  // by the host, both versions
                       .pfc = {{.priorities = 8, .received = {0, 7}}},
                       .apps = {{.selector = 5, .protocol = 26, .priority = 3}, {.selector = 9}}};
  const model::NicDcb told = to_control(dcb);
  EXPECT_EQ(told.mode, model::DcbxMode::kIeee);
  EXPECT_TRUE(told.managed_by_host);
  EXPECT_EQ(told.ets, std::nullopt);
  ASSERT_TRUE(told.pfc);
  EXPECT_EQ(told.pfc->priorities, 8);
  EXPECT_EQ(told.pfc->received[1], 7U);
  EXPECT_THAT(told.apps, ElementsAre(model::DcbApp{.selector = model::DcbSelector::kDscp,
                                                   .protocol = 26,
                                                   .priority = 3},
                                     model::DcbApp{}));
  dcb.apps.resize(1000);
  EXPECT_EQ(to_control(dcb).apps.size(), model::kMaxDcbApps);
}

TEST_F(MachineProbeTest, ListsPortsOfRdmaDevices) {
  const auto devices = to_control(
      std::vector<rdma::Port>{
          {.device = "rxe0", .driver = "rdma_rxe", .net_device = "eth1", .roce_v2 = true},
          {.device = "mlx5_0", .number = 2, .pci = "0000:03:00.0"},
          {.device = "mlx5_0",
           .number = 1,
           .pci = "0000:03:00.0",
           .state = rdma::PortState::kActive}},
      names_);
  EXPECT_THAT(devices, ElementsAre(Field(&model::RdmaDevice::identity, "pci 0000:03:00.0 port 1"),
                                   Field(&model::RdmaDevice::identity, "pci 0000:03:00.0 port 2"),
                                   Field(&model::RdmaDevice::identity, "name rxe0 port 1")));
  EXPECT_EQ(devices[0].state, model::RdmaState::kActive);
  EXPECT_EQ(devices[0].description, "MT27700 Family [ConnectX-4]");
  EXPECT_EQ(devices[2].description, "rxe0");
  EXPECT_EQ(devices[2].paired_link, "eth1");
}

TEST_F(MachineProbeTest, ListsNoMoreThanThereMayBe) {
  std::vector<ethernet::Nic> nics(1000);
  for (std::size_t i = 0; i < nics.size(); ++i) nics[i].name = "v" + std::to_string(i);
  EXPECT_EQ(to_control(std::move(nics), names_).size(), model::kMaxNics);
  EXPECT_EQ(to_control(std::vector<rdma::Port>(1000), names_).size(), model::kMaxRdmaDevices);
}

}  // namespace
}  // namespace paravane::keeper
