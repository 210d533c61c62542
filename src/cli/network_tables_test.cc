#include "cli/network_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::cli {
namespace {

using text::TableFormat;

TEST(SwitchTable, HasARowForEachHostAndSaysHowItIsOnThisOne) {
  const model::SwitchStatus lan{
      .spec = {.name = "lan", .mtu = 9000, .hosts = {{"h1", "eth1"}, {"h2", ""}}},
      .port_groups = {"a", "b"},
      .host = "h1",
      .form = model::SwitchForm::kPlain,
      .bridges = {"pvs-lan", "pvs-lan+10"},
      .problems = {"x", "y"}};
  const model::SwitchStatus empty{.spec = {.name = "new"}, .host = "h1"};
  EXPECT_EQ(switch_table({lan, empty}).print(text::TableFormat::kCsv),
            "Name,MTU,Host,Uplink,Form,Bridges,Port Groups,Problem\n"
            "lan,9000,h1,eth1,plain,\"pvs-lan,pvs-lan+10\",\"a,b\",x; y\n"
            "lan,9000,h2,-,-,-,\"a,b\",\n"
            "new,1500,-,-,-,-,-,\n");
}

TEST(SwitchTable, SaysWhichUplinkOfATeamIsActiveOnThisHost) {
  const model::SwitchStatus lan{.spec = {.name = "lan",
                                         .hosts = {{"h1", "eth1"}, {"h2", "eth1"}},
                                         .standby = {{"h1", {"eth2", "eth3"}}, {"h2", {"eth2"}}}},
                                .host = "h1",
                                .form = model::SwitchForm::kPlain,
                                .active = "eth2"};
  EXPECT_EQ(switch_table({lan}).print(text::TableFormat::kCsv),
            "Name,MTU,Host,Uplink,Form,Bridges,Port Groups,Problem\n"
            "lan,1500,h1,\"eth1 (standby),eth2 (active),eth3 (standby)\",plain,-,-,\n"
            "lan,1500,h2,\"eth1,eth2\",-,-,-,\n");
}

TEST(RepairTable, SaysWhatWasMendedAndWhatCouldNotBe) {
  const model::SwitchRepair repair{
      .mended = {{.vds = "lan", .interface = "pvs-lan", .text = "it was down and was brought up"}},
      .switches = {{.spec = {.name = "lan"}, .host = "h1", .problems = {"nic: gone"}}}};
  EXPECT_EQ(repair_table(repair).print(text::TableFormat::kCsv),
            "VDS,Interface,Result,What\n"
            "lan,pvs-lan,mended,it was down and was brought up\n"
            "lan,-,problem,nic: gone\n");
}

TEST(PortGroupTable, NamesTheAdaptersThatLiveThere) {
  EXPECT_EQ(port_group_table(
                {{.spec = {.name = "a", .vds = "lan", .vlan = 10}, .adapters = {"db1", "db1/2"}},
                 {.spec = {.name = "b", .vds = "lan", .native_roce = true, .routed = true}}})
                .print(text::TableFormat::kCsv),
            "Name,VDS,VLAN,RoCE,Routed,Adapters\n"
            "a,lan,10,off,off,\"db1,db1/2\"\n"
            "b,lan,0,native,on,-\n");
}

}  // namespace
}  // namespace paravane::cli
