// What the guides show of a host, with the values that they show.

#include "cli/vmkernel_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::cli {
namespace {

using testing::HasSubstr;
using text::TableFormat;

model::VmknicStatus vmk1() {
  return {.spec = {.name = "vmk1",
                   .port_group = "vg-RDMA",
                   .mac = model::MacAddress{0x00, 0x50, 0x56, 0x6f, 0x54, 0xc0},
                   .ipv4 = parse_ipv4_interface("192.168.1.241/24")},
          .interface = "vmk1",
          .vds = "lan",
          .mtu = 1500,
          .tagged = true};
}

TEST(VmkernelTables, InterfacesAreRecords) {
  const std::string text = text::print_records(vmknic_records({vmk1()}), text::TableFormat::kTable);
  EXPECT_THAT(text, HasSubstr("vmk1\n   Name: vmk1\n   MAC Address: 00:50:56:6f:54:c0\n"
                              "   Enabled: true\n   Portset: DvsPortset-0\n"
                              "   Portgroup: vg-RDMA\n"
                              "   Netstack Instance: defaultTcpipStack\n   VDS Name: lan\n"));
  EXPECT_THAT(text, HasSubstr("   MTU: 1500\n   TSO MSS: 65535\n"));
}

// Lenovo LP0759, figure 2.
TEST(VmkernelTables, EsxcfgVmknicIsAsInTheGuide) {
  EXPECT_THAT(esxcfg_vmknics({vmk1()}),
              testing::ContainsRegex("vmk1 +vg-RDMA +IPv4 +192.168.1.241 +255.255.255.0 "
                                     "+192.168.1.255 +00:50:56:6f:54:c0 +1500 +65535 +true "
                                     "+STATIC +defaultTcpipStack"));
}

TEST(VmkernelTables, AddressesAreATable) {
  EXPECT_EQ(ipv4_table({vmk1()}).print(text::TableFormat::kCsv),
            "Name,IPv4 Address,IPv4 Netmask,IPv4 Broadcast,Address Type,Gateway,DHCP DNS\n"
            "vmk1,192.168.1.241,255.255.255.0,192.168.1.255,STATIC,0.0.0.0,false\n");
}

TEST(VmkernelTables, AnRdmaDeviceServesThoseOnTheSwitchOfItsUplink) {
  model::SwitchStatus lan{.spec = {.name = "lan", .hosts = {{"h1", "eth4"}}}, .host = "h1"};
  const model::RdmaDevice device{.name = "vmrdma0", .paired_link = "eth4"};
  EXPECT_EQ(rdma_vmknic_table({device}, {vmk1()}, {lan}).print(text::TableFormat::kTable),
            "Device   Vmknic  NetStack\n"
            "-------  ------  -----------------\n"
            "vmrdma0  vmk1    defaultTcpipStack\n");
  lan.spec.hosts["h1"] = "eth5";
  EXPECT_TRUE(rdma_vmknic_table({device}, {vmk1()}, {lan}).empty());
}

TEST(VmkernelTables, SettingsAreRecords) {
  EXPECT_EQ(
      text::print_records(setting_records({{.path = "/Net/PVRDMAVmknic", .value = "vmk1"}}),
                          text::TableFormat::kTable),
      "   Path: /Net/PVRDMAVmknic\n   Type: string\n   Int Value: 0\n"
      "   Default Int Value: 0\n   Min Value: 0\n   Max Value: 0\n"
      "   String Value: vmk1\n   Default String Value:\n   Valid Characters: *\n"
      "   Description: VMkernel interface for the channel to other hosts; empty: no channel\n");
}

}  // namespace
}  // namespace paravane::cli
