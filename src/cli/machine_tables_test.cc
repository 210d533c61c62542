// The tables that guides show, with the values that they show.

#include "cli/machine_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace paravane::cli {
namespace {

using model::RdmaState;
using text::TableFormat;

std::vector<model::RdmaDevice> two_devices() {
  return {{.name = "vmrdma0",
           .driver = "nmlx5_rdma",
           .description = "MT27700 Family [ConnectX-4]",
           .state = model::RdmaState::kActive,
           .mtu = 1024,
           .speed_mbps = 100'000,
           .paired_uplink = "vmnic4",
           .roce_v2 = true},
          {.name = "vmrdma1",
           .driver = "nmlx4_rdma",
           .description = "MT27520 Family [ConnectX-3 Pro]",
           .state = model::RdmaState::kDown,
           .mtu = 1024,
           .speed_mbps = 40'000,
           .paired_uplink = "vmnic4"}};
}

std::vector<model::PhysicalNic> two_nics() {
  return {{.name = "vmnic1",
           .pci = "0000:2f:00.0",
           .driver = "igbn",
           .mac = "a0:36:9f:98:72:68",
           .description = "Intel Corporation Ethernet Server Adapter I350-T4",
           .mtu = 1500,
           .up = true},
          {.name = "vusb0",
           .driver = "cdce",
           .mac = "7e:d3:0a:c6:9f:07",
           .description = "IBM XClarity Controller",
           .mtu = 1500,
           .speed_mbps = 40'000,
           .full_duplex = true,
           .up = true,
           .carrier = true}};
}

TEST(MachineTables, RdmaDevicesAreAsInTheGuides) {
  EXPECT_EQ(rdma_device_table(two_devices()).print(text::TableFormat::kTable),
            "Name     Driver      State   MTU   Speed     Paired Uplink  Description\n"
            "-------  ----------  ------  ----  --------  -------------  "
            "-------------------------------\n"
            "vmrdma0  nmlx5_rdma  Active  1024  100 Gbps  vmnic4         "
            "MT27700 Family [ConnectX-4]\n"
            "vmrdma1  nmlx4_rdma  Down    1024  0         vmnic4         "
            "MT27520 Family [ConnectX-3 Pro]\n");
  EXPECT_EQ(rdma_device_table({}).print(text::TableFormat::kTable),
            "Name  Driver  State  MTU  Speed  Paired Uplink  Description\n"
            "----  ------  -----  ---  -----  -------------  -----------\n");
  EXPECT_EQ(rdma_device_table({}).print(text::TableFormat::kJson), "[]\n");
}

TEST(MachineTables, ProtocolsAreLowerCaseBooleans) {
  EXPECT_EQ(rdma_protocol_table({two_devices()[0]}).print(text::TableFormat::kTable),
            "Device   RoCE v1  RoCE v2  iWARP\n"
            "-------  -------  -------  -----\n"
            "vmrdma0  false    true     false\n");
  EXPECT_EQ(rdma_protocol_table({two_devices()[0]}).print(text::TableFormat::kCsv),
            "Device,RoCE v1,RoCE v2,iWARP\nvmrdma0,false,true,false\n");
}

TEST(MachineTables, SpeedsMayHaveFractions) {
  auto devices = two_devices();
  devices[0].speed_mbps = 2'500;
  EXPECT_THAT(rdma_device_table({devices[0]}).print(text::TableFormat::kCsv),
              testing::HasSubstr("Active,1024,2.5 Gbps,vmnic4"));
}

TEST(MachineTables, NicsAreAsInVsphere8) {
  EXPECT_EQ(nic_table(two_nics()).print(text::TableFormat::kTable),
            "Name    PCI Device    Driver  Admin Status  Link Status  Speed  Duplex  MAC Address"
            "        MTU   Description\n"
            "------  ------------  ------  ------------  -----------  -----  ------  "
            "-----------------  ----  -------------------------------------------------\n"
            "vmnic1  0000:2f:00.0  igbn    Up            Down         0      Half    "
            "a0:36:9f:98:72:68  1500  Intel Corporation Ethernet Server Adapter I350-T4\n"
            "vusb0   Pseudo        cdce    Up            Up           40000  Full    "
            "7e:d3:0a:c6:9f:07  1500  IBM XClarity Controller\n");
}

TEST(MachineTables, NicsAreAsInVsphere65) {
  EXPECT_EQ(esxcfg_nics(two_nics()),
            "Name    PCI          Driver      Link Speed      Duplex MAC Address       MTU    "
            "Description\n"
            "vmnic1  0000:2f:00.0 igbn        Down 0Mbps      Half   a0:36:9f:98:72:68 1500   "
            "Intel Corporation Ethernet Server Adapter I350-T4\n"
            "vusb0   Pseudo       cdce        Up   40000Mbps  Full   7e:d3:0a:c6:9f:07 1500   "
            "IBM XClarity Controller\n");
}

TEST(MachineTables, StatsHaveTheWordsOfEsxcliFirst) {
  const std::array records = {rdma_stats_record(
      {.name = "vmrdma0",
       .counters = {{"port_rcv_data", 10}, {"port_rcv_packets", 3}, {"symbol_error", 1}},
       .hw_counters = {{"out_of_sequence", 2}, {"rcvd_pkts", 99}},
       .resources = {{"qp", 4}}})};
  EXPECT_EQ(text::print_records(records, text::TableFormat::kTable),
            "   Packets received: 3\n"
            "   Bytes received: 40\n"
            "   Queue pairs allocated: 4\n"
            "   symbol_error: 1\n"
            "   out_of_sequence: 2\n"
            "   rcvd_pkts: 99\n");
}

}  // namespace
}  // namespace paravane::cli
