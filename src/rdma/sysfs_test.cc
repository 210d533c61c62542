// A folder that looks like sysfs with a card of two ports and a device that is a program.

#include "rdma/sysfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "testing/temp_dir.h"

namespace paravane::rdma {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class SysfsTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    const fs::path file = dir_.path() / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  void link(const std::string& name, const std::string& target) const {
    const fs::path file = dir_.path() / name;
    fs::create_directories(file.parent_path());
    fs::create_symlink(target, file);
  }
  void add_port(const std::string& device, int number, const std::string& state,
                const std::string& rate) const {
    const std::string port = "class/infiniband/" + device + "/ports/" + std::to_string(number);
    write(port + "/link_layer", "Ethernet");
    write(port + "/state", state);
    write(port + "/rate", rate);
  }
  // With links as sysfs has them: class/infiniband/NAME/device leads to the PCI function.
  void add_card() const {
    const std::string card = "class/infiniband/mlx5_0";
    write(card + "/node_type", "1: CA");
    write("devices/0000:03:00.0/vendor", "0x15b3");
    link("devices/0000:03:00.0/driver", "../../bus/pci/drivers/mlx5_core");
    link("devices/0000:03:00.0/subsystem", "../../bus/pci");
    link(card + "/device", "../../../devices/0000:03:00.0");
    add_port("mlx5_0", 1, "4: ACTIVE", "100 Gb/sec (4X EDR)");
    const std::string gids = card + "/ports/1/gid_attrs";
    write(gids + "/types/0", "IB/RoCE v1");
    write(gids + "/types/1", "RoCE v2");
    write(gids + "/ndevs/0", "eth4");
    write(card + "/ports/1/counters/port_rcv_packets", "17");
    write(card + "/ports/1/counters/port_rcv_data", "N/A (no PMA)");
    write(card + "/ports/1/hw_counters/out_of_sequence", "3");
    write(card + "/ports/1/hw_counters/lifespan", "10");
    add_port("mlx5_0", 2, "1: DOWN", "2.5 Gb/sec (1X SDR)");
  }

  TempDir dir_;
  Sysfs sysfs_{dir_.path()};
};

TEST_F(SysfsTest, OfAHostWithoutRdmaHasNoPorts) {
  EXPECT_THAT(sysfs_.ports(), IsEmpty());
  EXPECT_EQ(sysfs_.counters("mlx5_0", 1).error().code, Errc::kNotFound);
}

TEST_F(SysfsTest, ReadsEachPortOfACard) {
  add_card();
  const Port first{.device = "mlx5_0",
                   .number = 1,
                   .driver = "mlx5_core",
                   .pci = "0000:03:00.0",
                   .link_layer = "Ethernet",
                   .state = PortState::kActive,
                   .speed_mbps = 100'000};
  const Port second{.device = "mlx5_0",
                    .number = 2,
                    .driver = "mlx5_core",
                    .pci = "0000:03:00.0",
                    .link_layer = "Ethernet",
                    .state = PortState::kDown,
                    .speed_mbps = 2'500};
  EXPECT_THAT(sysfs_.ports(), ElementsAre(first, second));
}

TEST_F(SysfsTest, ReadsProtocolsAndTheNicFromTheGidTable) {
  add_card();
  auto ports = sysfs_.ports();
  for (Port& port : ports) sysfs_.read_gids(port);
  EXPECT_TRUE(ports[0].roce_v1 && ports[0].roce_v2);
  EXPECT_EQ(ports[0].net_device, "eth4");
  EXPECT_FALSE(ports[1].roce_v1 || ports[1].roce_v2);
  ports[0].net_device = "eth5";  // as netlink has it
  sysfs_.read_gids(ports[0]);
  EXPECT_EQ(ports[0].net_device, "eth5");
}

TEST_F(SysfsTest, KnowsProgramsByTheirNodeType) {
  write("class/infiniband/rxe0/node_type", "1: CA");
  add_port("rxe0", 1, "4: ACTIVE", "10 Gb/sec (1X EDR)");
  write("class/infiniband/siw0/node_type", "4: RNIC");
  add_port("siw0", 1, "4: ACTIVE", "10 Gb/sec");
  const auto ports = sysfs_.ports();
  ASSERT_EQ(ports.size(), 2u);
  EXPECT_EQ(ports[0].driver, "rdma_rxe");
  EXPECT_FALSE(ports[0].iwarp);
  EXPECT_EQ(ports[1].driver, "siw");
  EXPECT_TRUE(ports[1].iwarp);
}

TEST_F(SysfsTest, ReadsCounters) {
  add_card();
  EXPECT_EQ(*sysfs_.counters("mlx5_0", 1), (PortCounters{.counters = {{"port_rcv_packets", 17}},
                                                         .hw_counters = {{"out_of_sequence", 3}}}));
  EXPECT_FALSE(sysfs_.counters("mlx5_0", 3));
  EXPECT_FALSE(sysfs_.counters("../infiniband/mlx5_0", 1));
  EXPECT_FALSE(sysfs_.counters("..", 1));
}

TEST_F(SysfsTest, TakesWhatItDoesNotUnderstandForUnknown) {
  add_port("odd0", 1, "9: NEW", "fast");
  write("class/infiniband/odd0/ports/x/state", "4: ACTIVE");
  const auto ports = sysfs_.ports();
  ASSERT_EQ(ports.size(), 1u);
  EXPECT_EQ(ports[0].state, PortState::kUnknown);
  EXPECT_EQ(ports[0].speed_mbps, 0u);
}

}  // namespace
}  // namespace paravane::rdma
