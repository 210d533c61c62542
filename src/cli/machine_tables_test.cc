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
            "Name     Driver      State   MTU   Speed     Paired Uplink  "
            "Description                      Used By\n"
            "-------  ----------  ------  ----  --------  -------------  "
            "-------------------------------  -------\n"
            "vmrdma0  nmlx5_rdma  Active  1024  100 Gbps  vmnic4         "
            "MT27700 Family [ConnectX-4]      -\n"
            "vmrdma1  nmlx4_rdma  Down    1024  0         vmnic4         "
            "MT27520 Family [ConnectX-3 Pro]  -\n");
  EXPECT_EQ(rdma_device_table({}).print(text::TableFormat::kTable),
            "Name  Driver  State  MTU  Speed  Paired Uplink  Description  Used By\n"
            "----  ------  -----  ---  -----  -------------  -----------  -------\n");
  EXPECT_EQ(rdma_device_table({}).print(text::TableFormat::kJson), "[]\n");
}

TEST(MachineTables, RdmaDevicesAreListedWithWhatTheyAreUsedFor) {
  auto devices = two_devices();
  devices[0].trunks = {"h2", "h3"};
  devices[1].uplink_of = "lan";
  std::string csv = rdma_device_table(devices).print(text::TableFormat::kCsv);
  EXPECT_THAT(csv, testing::HasSubstr("MT27700 Family [ConnectX-4],\"trunk h2, h3\"\n"));
  EXPECT_THAT(csv, testing::HasSubstr("MT27520 Family [ConnectX-3 Pro],uplink of lan\n"));
  devices[0].uplink_of = "san";
  csv = rdma_device_table(devices).print(text::TableFormat::kCsv);
  EXPECT_THAT(csv, testing::HasSubstr("\"trunk h2, h3; uplink of san\"\n"));
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

// A port of an InfiniBand adapter has a longer one, as in Mellanox's guide (4.2.3.2).
TEST(MachineTables, ALongNameWidensItsColumn) {
  auto nics = two_nics();
  nics[0].name = "vmnic13.p2";
  EXPECT_EQ(esxcfg_nics(nics),
            "Name       PCI          Driver      Link Speed      Duplex MAC Address       MTU    "
            "Description\n"
            "vmnic13.p2 0000:2f:00.0 igbn        Down 0Mbps      Half   a0:36:9f:98:72:68 1500   "
            "Intel Corporation Ethernet Server Adapter I350-T4\n"
            "vusb0      Pseudo       cdce        Up   40000Mbps  Full   7e:d3:0a:c6:9f:07 1500   "
            "IBM XClarity Controller\n");
}

TEST(MachineTables, PauseParametersAreAsInVsphere) {
  auto nics = two_nics();
  nics[1].pause = {
      .set = {.rx = true}, .auto_negotiation = true, .negotiated = {{.rx = true, .tx = true}}};
  EXPECT_EQ(pause_table(nics).print(text::TableFormat::kTable),
            "NIC     Pause Params Supported  Pause RX  Pause TX  Auto Negotiation  "
            "Auto Negotiation Resolution Avail  RX Auto Negotiation Resolution  "
            "TX Auto Negotiation Resolution\n"
            "------  ----------------------  --------  --------  ----------------  "
            "---------------------------------  ------------------------------  "
            "------------------------------\n"
            "vmnic1  false                   false     false     false             "
            "false                              false                           "
            "false\n"
            "vusb0   true                    true      false     true              "
            "true                               true                            "
            "true\n");
}

TEST(MachineTables, DcbIsAsInVsphere) {
  model::NicDcb dcb{.name = "vmnic3", .mode = model::DcbxMode::kIeee};
  dcb.ets = {.willing = true,
             .classes = 8,
             .tx_percent = {13, 13, 13, 13, 12, 12, 12, 12},
             .rx_percent = {13, 13, 13, 13, 12, 12, 12, 12},
             .algorithms = {2, 2, 2, 2, 2, 2, 2, 2},
             .class_of_priority = {1, 0, 2, 3, 4, 5, 6, 7}};
  dcb.pfc = {.classes = 8, .priorities = 1U << 3U, .sent = {0, 0, 0, 9}};
  dcb.apps = {{.selector = model::DcbSelector::kEthertype, .protocol = 0x8906, .priority = 3},
              {.selector = model::DcbSelector::kDscp, .protocol = 26, .priority = 3}};
  const std::array records = {dcb_record(dcb)};
  EXPECT_EQ(text::print_records(records, text::TableFormat::kTable),
            "   Nic Name: vmnic3\n"
            "   Mode: IEEE Mode\n"
            "   Enabled: true\n"
            "   Managed By Host: false\n"
            "   Capabilities:\n"
            "         Priority Group: true\n"
            "         Priority Flow Control: true\n"
            "         PG Traffic Classes: 8\n"
            "         PFC Traffic Classes: 8\n"
            "   PFC Enabled: true\n"
            "   PFC Configuration: 0 0 0 1 0 0 0 0\n"
            "   IEEE ETS Configuration:\n"
            "         Willing Bit In ETS Config TLV: 1\n"
            "         Supported Capacity: 8\n"
            "         Credit Based Shaper ETS Algorithm Supported: 0x0\n"
            "         TX Bandwidth Per TC: 13 13 13 13 12 12 12 12\n"
            "         RX Bandwidth Per TC: 13 13 13 13 12 12 12 12\n"
            "         TSA Assignment Table Per TC: 2 2 2 2 2 2 2 2\n"
            "         Priority Assignment Per TC: 1 0 2 3 4 5 6 7\n"
            "         Recommended TC Bandwidth Per TC: 0 0 0 0 0 0 0 0\n"
            "         Recommended TSA Assignment Per TC: 0 0 0 0 0 0 0 0\n"
            "         Recommended Priority Assignment Per TC: 0 0 0 0 0 0 0 0\n"
            "   IEEE PFC Configuration:\n"
            "         Number Of Traffic Classes: 8\n"
            "         PFC Configuration: 0 0 0 1 0 0 0 0\n"
            "         Macsec Bypass Capability Is Enabled: 0\n"
            "         Round Trip Propagation Delay Of Link: 0\n"
            "         Sent PFC Frames: 0 0 0 9 0 0 0 0\n"
            "         Received PFC Frames: 0 0 0 0 0 0 0 0\n"
            "   DCB Apps:\n"
            "         App Type: ethertype\n"
            "         Protocol ID: 0x8906\n"
            "         User Priority: 3\n"
            "\n"
            "         App Type: dscp\n"
            "         Protocol ID: 26\n"
            "         User Priority: 3\n");
}

TEST(MachineTables, WhatADriverDoesNotReportIsLeftOut) {
  const std::array records = {dcb_record({.name = "vmnic3", .mode = model::DcbxMode::kCee})};
  EXPECT_EQ(text::print_records(records, text::TableFormat::kTable),
            "   Nic Name: vmnic3\n"
            "   Mode: CEE Mode\n"
            "   Enabled: false\n"
            "   Managed By Host: false\n"
            "   Capabilities:\n"
            "         Priority Group: false\n"
            "         Priority Flow Control: false\n"
            "   DCB Apps:\n");
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
