// From a plan to the links that are wanted for it, and those in a network of its own.

#include "keeper/switch_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ethernet/merging_ability.h"
#include "testing/own_network.h"

namespace paravane::keeper {
namespace {

using model::SwitchForm;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

privsep::SwitchPlan some_plan() {
  return {.switches = {{.name = "lan", .mtu = 1500, .uplink = "nic", .vlans = {0, 10, 20}}},
          .taps = {{.vm = "db1", .adapter = 1, .vds = "lan", .vlan = 10},
                   {.vm = "db1", .adapter = 2, .vds = "lan", .vlan = 0}}};
}

SwitchBuilderConfig some_config() {
  return {.mark = "paravane:1:", .uplinks = {"nic"}, .tap_access = {}};
}

TEST(LayOut, IsOneBridgeWhereItFiltersVlans) {
  const SwitchLayout layout = lay_out(some_plan(), some_config(), true);
  ASSERT_EQ(layout.links.bridges.size(), 1u);
  EXPECT_EQ(layout.links.bridges[0].name, "pvs-lan");
  EXPECT_TRUE(layout.links.bridges[0].vlan_aware);
  ASSERT_EQ(layout.links.uplinks.size(), 1u);
  EXPECT_THAT(layout.links.uplinks[0].tagged, ElementsAre(10, 20));
  ASSERT_EQ(layout.links.taps.size(), 2u);
  EXPECT_EQ(layout.links.taps[0].name, "pv-db1");
  EXPECT_EQ(layout.links.taps[0].untagged, 10);
  EXPECT_THAT(layout.links.taps[0].tagged, IsEmpty());
  EXPECT_EQ(layout.links.taps[1].name, "pv-db1.2");
  // Untagged on the wire, and inside in a VLAN that no port group has.
  EXPECT_EQ(layout.links.uplinks[0].untagged, 4094);
  EXPECT_EQ(layout.links.taps[1].untagged, 4094);
  EXPECT_EQ(layout.report.switches[0].form, model::SwitchForm::kVlanAware);
  EXPECT_THAT(layout.report.switches[0].problems, IsEmpty());
}

TEST(LayOut, TheVlanOfUntaggedFramesIsNoPortGroups) {
  privsep::SwitchPlan plan = some_plan();
  plan.switches[0].vlans = {0, 4093, 4094};
  plan.taps.clear();
  EXPECT_EQ(lay_out(plan, some_config(), true).links.uplinks[0].untagged, 4092);
  plan.switches[0].vlans = {10};
  EXPECT_EQ(lay_out(plan, some_config(), true).links.uplinks[0].untagged, 0);
}

TEST(LayOut, IsABridgePerVlanElsewhereAndSaysWhatThatCosts) {
  const SwitchLayout layout = lay_out(some_plan(), some_config(), false);
  const privsep::SwitchReport::Switch& lan = layout.report.switches[0];
  EXPECT_EQ(lan.form, model::SwitchForm::kPlain);
  EXPECT_THAT(lan.bridges, ElementsAre("pvs-lan", "pvs-lan+10", "pvs-lan+20"));
  EXPECT_THAT(lan.problems, ElementsAre(HasSubstr("VLAN 10, 20 has no uplink")));
  ASSERT_EQ(layout.links.uplinks.size(), 1u);
  EXPECT_EQ(layout.links.uplinks[0].bridge, "pvs-lan");
  EXPECT_EQ(layout.links.taps[0].bridge, "pvs-lan+10");
  EXPECT_EQ(layout.links.taps[1].bridge, "pvs-lan");
}

TEST(LayOut, TakesNoNicThatTheOperatorDidNotGive) {
  SwitchBuilderConfig config = some_config();
  config.uplinks = {"another"};
  for (const bool vlan_aware : {true, false}) {
    const SwitchLayout layout = lay_out(some_plan(), config, vlan_aware);
    EXPECT_THAT(layout.links.uplinks, IsEmpty());
    EXPECT_THAT(layout.report.switches[0].problems,
                testing::Contains(HasSubstr("nic is not listed")));
  }
}

// Names are cut to what Linux takes, so two can become one.
TEST(LayOut, NeverPutsTwoThingsBehindOneName) {
  privsep::SwitchPlan plan;
  for (int i = 0; i < 64; ++i) {
    plan.switches.push_back({.name = "a-switch-with-a-long-name-" + std::to_string(i),
                             .mtu = 1500,
                             .uplink = "",
                             .vlans = {0}});
  }
  for (int i = 0; i < 2000; ++i) {
    plan.taps.push_back({.vm = "a-vm-with-a-long-name-" + std::to_string(i),
                         .adapter = 1,
                         .vds = plan.switches[static_cast<std::size_t>(i) % 64].name,
                         .vlan = 0});
  }
  const SwitchLayout layout = lay_out(plan, some_config(), true);
  std::set<std::string> names;
  for (const auto& bridge : layout.links.bridges) EXPECT_TRUE(names.insert(bridge.name).second);
  for (const auto& tap : layout.links.taps) EXPECT_TRUE(names.insert(tap.name).second);
  EXPECT_EQ(layout.links.taps.size() + layout.report.taps.size(), plan.taps.size());
  EXPECT_GT(layout.report.taps.size(), 0u);  // of 2000, some pair has one hash of 16 bits
}

TEST(SwitchMark, IsOfAStateDirectory) {
  EXPECT_EQ(switch_mark("/var/lib/paravane"), switch_mark("/var/lib/paravane"));
  EXPECT_NE(switch_mark("/var/lib/paravane"), switch_mark("/var/lib/paravane2"));
  EXPECT_THAT(switch_mark("/a"), testing::MatchesRegex("paravane:[0-9a-f]+:"));
}

TEST(SwitchBuilder, MakesAndRemovesASwitchInEitherForm) {
  const OwnNetwork network;
  ASSERT_TRUE(network.made()) << "needs root";
  ASSERT_TRUE(network.ip("link add nic type veth peer name far"));
  SwitchBuilder host(some_config());
  const privsep::SwitchReport report = host.make(some_plan());
  ASSERT_EQ(report.problem, "");
  ASSERT_EQ(report.switches.size(), 1u);
  EXPECT_THAT(report.taps, IsEmpty());
  for (const std::string& bridge : report.switches[0].bridges) {
    EXPECT_TRUE(network.is_there(bridge)) << bridge;
  }
  EXPECT_TRUE(network.ip_shows("link show dev nic", "master pvs-lan "));
  EXPECT_TRUE(network.is_there("pv-db1.2"));
  EXPECT_EQ(host.make({}), privsep::SwitchReport{});
  EXPECT_FALSE(network.ip_shows("link", "pv"));
  EXPECT_TRUE(network.is_there("nic"));
}

// Kernels that lack a part of it get the packets one by one, which is no problem of the tap.
TEST(SwitchBuilder, MakesRocePortsWithWhatMergesPacketsAndRemovesAllOfIt) {
  const OwnNetwork network;
  ASSERT_TRUE(network.made()) << "needs root";
  privsep::SwitchPlan plan = some_plan();
  plan.switches[0].uplink = "";
  plan.roce_ports = {{.vm = "db1", .adapter = 2, .mac = {2, 0, 0, 0, 0, 9}, .making = 1}};
  const bool merges = ethernet::find_merging("paravane:1:").merges != ethernet::Merges::kNothing;
  SwitchBuilder host(some_config());
  for (int round = 0; round < 2; ++round) {
    const privsep::SwitchReport report = host.make(plan);
    EXPECT_THAT(report.taps, IsEmpty());
    EXPECT_TRUE(network.is_there("pvr-db1.2"));
    EXPECT_EQ(network.is_there("pvm-db1.2"), merges);
    ASSERT_EQ(report.unmerged.empty(), merges);
    if (merges) continue;
    EXPECT_EQ(report.unmerged[0].vm, "db1");
    EXPECT_EQ(report.unmerged[0].adapter, 2u);
    EXPECT_NE(report.unmerged[0].why, "");
  }
  EXPECT_TRUE(host.about().names.contains("pvr-db1.2"));
  plan.roce_ports.clear();
  EXPECT_THAT(host.make(plan).unmerged, IsEmpty());
  EXPECT_TRUE(network.is_there("pv-db1.2"));
  for (const char* kind : {"pvr", "pvm", "pvf", "pvP"})
    EXPECT_FALSE(network.ip_shows("link", kind));
}

// As the keeper asks for it when an engine has taken over from another.
TEST(SwitchBuilder, OpensRocePortsAgainForAnotherEngine) {
  const OwnNetwork network;
  ASSERT_TRUE(network.made()) << "needs root";
  privsep::SwitchPlan plan = some_plan();
  plan.switches[0].uplink = "";
  plan.roce_ports = {{.vm = "db1", .adapter = 2, .mac = {2, 0, 0, 0, 0, 9}, .making = 1}};
  SwitchBuilder builder(some_config());
  LocalSwitches& host = builder;
  host.make(plan);
  EXPECT_EQ(host.take_opened_ports().size(), 1u);  // and is closed, as an engine does that ends
  host.make(plan);
  EXPECT_THAT(host.take_opened_ports(), IsEmpty());
  host.take_back_all();
  EXPECT_THAT(host.make(plan).taps, IsEmpty());
  EXPECT_EQ(host.take_opened_ports().size(), 1u);
}

// As a daemon that died left them, of a VM that is no more.
TEST(SwitchBuilder, RemovesPairsOfRocePortsThatAreGone) {
  const OwnNetwork network;
  ASSERT_TRUE(network.ip("link add pvm-old type veth peer name pvf-old")) << "needs root";
  ASSERT_TRUE(network.ip("link set pvm-old alias paravane:1:pv-old~"));
  ASSERT_TRUE(network.ip("link add pvm-other type veth peer name pvf-other"));
  ASSERT_TRUE(network.ip("link set pvm-other alias paravane:2:pv-other~"));
  SwitchBuilder(some_config()).make(some_plan());
  EXPECT_FALSE(network.is_there("pvm-old"));
  EXPECT_TRUE(network.is_there("pvm-other"));
}

TEST(SwitchBuilder, TellsWhoseProblemItIs) {
  const OwnNetwork network;
  ASSERT_TRUE(network.ip("link add pvs-lan type bridge"));
  ASSERT_TRUE(network.ip("tuntap add pv-db1 mode tap"));
  const privsep::SwitchReport report = SwitchBuilder(some_config()).make(some_plan());
  EXPECT_THAT(report.switches[0].problems,
              testing::Contains(HasSubstr("pvs-lan: an interface that Paravane did not create")));
  EXPECT_THAT(report.switches[0].problems, testing::Contains(HasSubstr("nic: no such NIC")));
  ASSERT_EQ(report.taps.size(), 2u);
  EXPECT_THAT(report.taps[0].problem,
              HasSubstr("pv-db1: an interface that Paravane did not create"));
  EXPECT_THAT(report.taps[1].problem, HasSubstr("pv-db1.2: its bridge pvs-lan does not exist"));
}

}  // namespace
}  // namespace paravane::keeper
