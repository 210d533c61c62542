#include "cli/infiniband_tables.h"

#include <gtest/gtest.h>

namespace paravane::cli {
namespace {

using text::TableFormat;

model::IbAdapterStatus mlx4_0() {
  return {.adapter = {.name = "mlx4_0", .device = "MT26428", .bus = 13},
          .guid = 0x0250560001a2b300,
          .ports = {{.number = 1,
                     .guid = 0x0250560001a2b301,
                     .state = model::IbPortState::kActive,
                     .rate_gbps = 40,
                     .lid = 2,
                     .sm_lid = 1},
                    {.number = 2,
                     .guid = 0x0250560001a2b302,
                     .state = model::IbPortState::kInitializing,
                     .rate_gbps = 40,
                     .problem = "no subnet manager"}}};
}

TEST(InfinibandTables, AnAdapterHasARowForEachPort) {
  EXPECT_EQ(ib_adapter_table({mlx4_0()}).print(TableFormat::kTable),
            "Name    Device   Bus  Port  State         Rate     LID  SM LID  GUID                "
            "Problem\n"
            "------  -------  ---  ----  ------------  -------  ---  ------  ------------------  "
            "-----------------\n"
            "mlx4_0  MT26428  13   1     Active        40 Gbps  2    1       0x0250560001a2b301\n"
            "mlx4_0  MT26428  13   2     Initializing  40 Gbps  -    -       0x0250560001a2b302  "
            "no subnet manager\n");
}

TEST(InfinibandTables, AnAdapterThatWasNotMadeHasARow) {
  EXPECT_EQ(ib_adapter_table({{.adapter = {.name = "mlx4_0", .device = "MT26428", .bus = 13},
                               .problem = "no thread"}})
                .print(TableFormat::kCsv),
            "Name,Device,Bus,Port,State,Rate,LID,SM LID,GUID,Problem\n"
            "mlx4_0,MT26428,13,-,-,-,-,-,-,no thread\n");
}

TEST(InfinibandTables, CsvHasTheSameColumns) {
  EXPECT_EQ(ib_adapter_table({mlx4_0()}).print(TableFormat::kCsv),
            "Name,Device,Bus,Port,State,Rate,LID,SM LID,GUID,Problem\n"
            "mlx4_0,MT26428,13,1,Active,40 Gbps,2,1,0x0250560001a2b301,\n"
            "mlx4_0,MT26428,13,2,Initializing,40 Gbps,-,-,0x0250560001a2b302,no subnet manager\n");
}

TEST(InfinibandTables, TheSwitchIsALine) {
  model::IbFabric fabric{.host = "h1", .switch_guid = 0x0250560001000000};
  EXPECT_EQ(ib_switch_line(fabric),
            "Switch 0x0250560001000000 of host h1: no LID, no subnet manager\n");
  fabric.switch_lid = 3;
  fabric.sm_lid = 1;
  EXPECT_EQ(ib_switch_line(fabric),
            "Switch 0x0250560001000000 of host h1: LID 3, subnet manager at LID 1\n");
  fabric.host = "h\033";
  EXPECT_EQ(ib_switch_line(fabric).find('\033'), std::string::npos);
}

TEST(InfinibandTables, UplinksAreATableWithTheLeastMtu) {
  EXPECT_EQ(
      ib_uplink_table(
          {{.name = "vmnic32",
            .adapter = "mlx4_0",
            .port = 1,
            .rate_gbps = 40,
            .vds = "lan",
            .partitions = {{.vlan = 0, .key = 0xFFFF, .mtu = 4092},
                           {.vlan = 10, .key = 0x800A, .mtu = 2044},
                           {.vlan = 20, .problem = "VLAN 20: no partition"}},
            .addresses = 3},
           {.name = "vmnic33", .adapter = "mlx4_0", .port = 2, .problem = "the link is down"}})
          .print(TableFormat::kCsv),
      "Device,Adapter,Port,Speed,vSwitch,MTU,Partitions,Addresses,Problem\n"
      "vmnic32,mlx4_0,1,40000,lan,2044,\"0xffff, 0x800a (VLAN 10)\",3,VLAN 20: no partition\n"
      "vmnic33,mlx4_0,2,down,-,-,-,0,the link is down\n");
}

TEST(InfinibandTables, LinksAreATable) {
  EXPECT_EQ(ib_link_table({{.port = 1,
                            .peer = "mlx4_0 port 1",
                            .state = model::IbPortState::kActive,
                            .sent_packets = 1,
                            .received_packets = 2,
                            .sent_bytes = 3,
                            .received_bytes = 4,
                            .dropped = 5}})
                .print(TableFormat::kCsv),
            "Port,Peer,State,Sent Packets,Sent Bytes,Received Packets,Received Bytes,Dropped,"
            "Problem\n"
            "1,mlx4_0 port 1,Active,1,3,2,4,5,\n");
}

}  // namespace
}  // namespace paravane::cli
