#include "cli/dvs_records.h"

#include <gtest/gtest.h>

namespace paravane::cli {
namespace {

model::SwitchStatus lan(const std::string& uplink) {
  return {.spec = {.name = "lan", .mtu = 9000, .hosts = {{"h1", uplink}, {"h2", "eth7"}}},
          .host = "h1"};
}

TEST(DvsRecords, AreThoseOfEsxcli) {
  const std::vector<model::PortGroupStatus> groups = {
      {.spec = {.name = "storage", .vds = "lan", .vlan = 10}, .adapters = {"db1", "db1/2"}},
      {.spec = {.name = "other", .vds = "wan", .vlan = 10}, .adapters = {"db3"}}};
  const std::string storage = port_group_id("storage");
  EXPECT_EQ(text::print_records(
                dvs_records({lan("eth4")}, groups, {{.name = "vmnic4", .linux_name = "eth4"}}),
                text::TableFormat::kTable),
            "lan\n"
            "   Name: lan\n"
            "   VDS ID: " +
                vds_id("lan") +
                "\n"
                "   Class: cswitch\n"
                "   Num Ports: 512\n"
                "   Used Ports: 3\n"
                "   Configured Ports: 512\n"
                "   MTU: 9000\n"
                "   CDP Status: down\n"
                "   Beacon Timeout: -1\n"
                "   Uplinks: vmnic4\n"
                "   VMware Branded: false\n"
                "   DVPort:\n"
                "         Client: vmnic4\n"
                "         DVPortgroup ID: " +
                port_group_id("lan-uplinks") +
                "\n"
                "         In Use: true\n"
                "         Port ID: " +
                vds_port_id("vmnic4") +
                "\n"
                "\n"
                "         Client: db1.eth0\n"
                "         DVPortgroup ID: " +
                storage +
                "\n"
                "         In Use: true\n"
                "         Port ID: " +
                vds_port_id("db1.eth0") +
                "\n"
                "\n"
                "         Client: db1.eth1\n"
                "         DVPortgroup ID: " +
                storage +
                "\n"
                "         In Use: true\n"
                "         Port ID: " +
                vds_port_id("db1.eth1") + "\n");
}

TEST(DvsRecords, AreOfSwitchesThatTheHostIsIn) {
  model::SwitchStatus other = lan("");
  other.spec.hosts.erase("h1");
  EXPECT_TRUE(dvs_records({other}, {}, {}).empty());
  EXPECT_EQ(dvs_records({lan("")}, {}, {}).size(), 1u);
}

TEST(DvsRecords, IdsFollowFromNames) {
  EXPECT_EQ(vds_id("lan"), vds_id("lan"));
  EXPECT_NE(vds_id("lan"), vds_id("wan"));
  EXPECT_EQ(vds_id("lan").size(), 47u);
  EXPECT_EQ(vds_id("lan")[23], '-');
}

TEST(FailoverRecord, NamesTheUplinksInTheirOrder) {
  const model::SwitchStatus team{
      .spec = {.name = "lan", .hosts = {{"h1", "eth1"}}, .standby = {{"h1", {"eth3", "eth2"}}}},
      .host = "h1",
      .active = "eth2"};
  const text::TextRecord record = failover_record(team, {{.name = "vmnic1", .linux_name = "eth1"}});
  EXPECT_EQ(text::print_records(std::vector{record}, text::TableFormat::kTable),
            "   Load Balancing: explicit\n"
            "   Network Failure Detection: link\n"
            "   Notify Switches: true\n"
            "   Failback: true\n"
            "   Active Adapters: vmnic1\n"
            "   Standby Adapters: eth3, eth2\n"
            "   Unused Adapters:\n");
}

}  // namespace
}  // namespace paravane::cli
