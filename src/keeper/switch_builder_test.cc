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

TEST(LayOut, UplinksOfATeamHaveABridgeEachToStandByOn) {
  privsep::SwitchPlan plan = some_plan();
  plan.switches[0].standby = {"nic2", "vmnic32", "not-given"};
  plan.ipoib_uplinks = {{.name = "vmnic32", .making = 5}};
  SwitchBuilderConfig config = some_config();
  config.uplinks = {"nic", "nic2", "vmnic32"};
  for (const bool vlan_aware : {true, false}) {
    const SwitchLayout layout = lay_out(plan, config, vlan_aware);
    ASSERT_EQ(layout.links.teams.size(), 1u);
    const ethernet::WantedTeam& team = layout.links.teams[0];
    EXPECT_EQ(team.name, "lan");
    ASSERT_EQ(team.members.size(), 3u);
    EXPECT_THAT(team.members[1].ports, ElementsAre("nic2"));
    EXPECT_EQ(team.members[2].name, "vmnic32");
    EXPECT_EQ(team.members[2].ports,
              layout.uplink_taps.size() == 1
                  ? std::vector<std::string>{"vmnic32"}
                  : (std::vector<std::string>{"vmnic32", "vmnic32+10", "vmnic32+20"}));
    ASSERT_EQ(layout.links.uplinks.size(), 2u);
    EXPECT_EQ(layout.links.uplinks[1].parking, "pvs-+nic2");
    EXPECT_EQ(layout.links.uplinks[1].bridge, "pvs-lan");
    std::size_t parkings = 0;
    for (const ethernet::WantedBridge& bridge : layout.links.bridges) {
      if (bridge.is_parking) ++parkings;
    }
    EXPECT_EQ(parkings, 2 + layout.uplink_taps.size());
    EXPECT_THAT(layout.report.switches[0].problems,
                testing::Contains(HasSubstr("not-given is not listed")));
    // None of them is shown as a bridge of the switch.
    EXPECT_THAT(layout.report.switches[0].bridges, testing::Not(testing::Contains("pvs-+nic2")));
  }
  const SwitchLayout lone = lay_out(some_plan(), some_config(), true);
  EXPECT_THAT(lone.links.teams, IsEmpty());
  ASSERT_EQ(lone.links.alone.size(), 1u);
  EXPECT_EQ(lone.links.alone[0].name, "nic");
}

privsep::SwitchPlan infiniband_plan() {
  privsep::SwitchPlan plan = some_plan();
  plan.switches[0].uplink = "vmnic32";
  plan.switches[0].mtu = 2044;
  plan.ipoib_uplinks = {{.name = "vmnic32", .making = 5}};
  return plan;
}

SwitchBuilderConfig infiniband_config() {
  SwitchBuilderConfig config = some_config();
  config.uplinks = {"nic", "vmnic32"};
  return config;
}

std::vector<std::string> names_of(const std::vector<ethernet::WantedPort>& ports) {
  std::vector<std::string> names;
  for (const ethernet::WantedPort& port : ports) names.push_back(port.name);
  return names;
}

TEST(LayOutIpoib, IsOneTapWithAllVlansWhereTheBridgeFiltersThem) {
  const SwitchLayout layout = lay_out(infiniband_plan(), infiniband_config(), true);
  EXPECT_THAT(layout.links.uplinks, IsEmpty());  // it is no NIC
  EXPECT_THAT(names_of(layout.links.taps), ElementsAre("vmnic32", "pv-db1", "pv-db1.2"));
  const ethernet::WantedPort& tap = layout.links.taps[0];
  EXPECT_EQ(tap.bridge, "pvs-lan");
  EXPECT_EQ(tap.untagged, 4094);
  EXPECT_THAT(tap.tagged, ElementsAre(10, 20));
  EXPECT_EQ(tap.label, "uplink:vmnic32");
  EXPECT_TRUE(tap.is_for_root);
  EXPECT_FALSE(layout.links.taps[1].is_for_root);
  EXPECT_THAT(layout.uplink_taps, ElementsAre(UplinkTap{.name = "vmnic32",
                                                        .uplink = "vmnic32",
                                                        .vds = "lan",
                                                        .tagged = true,
                                                        .mtu = 2044,
                                                        .making = 5}));
  EXPECT_THAT(layout.report.switches[0].problems, IsEmpty());
}

TEST(LayOutIpoib, IsATapForEachVlanElsewhereSoThatEachReachesOtherHosts) {
  const SwitchLayout layout = lay_out(infiniband_plan(), infiniband_config(), false);
  EXPECT_THAT(layout.links.uplinks, IsEmpty());
  EXPECT_THAT(layout.report.switches[0].problems, IsEmpty());
  ASSERT_EQ(layout.uplink_taps.size(), 3u);
  const std::vector<std::string> names{"vmnic32", "vmnic32+10", "vmnic32+20"};
  const std::vector<std::uint32_t> vlans{0, 10, 20};
  const std::vector<std::string> bridges{"pvs-lan", "pvs-lan+10", "pvs-lan+20"};
  for (std::size_t i = 0; i < 3; ++i) {
    const ethernet::WantedPort& port = layout.links.taps[i];
    EXPECT_EQ(port.name, names[i]);
    EXPECT_EQ(port.bridge, bridges[i]);
    EXPECT_EQ(port.label, "uplink:vmnic32");
    EXPECT_TRUE(port.is_for_root);
    EXPECT_EQ(layout.uplink_taps[i], (UplinkTap{.name = names[i],
                                                .uplink = "vmnic32",
                                                .vds = "lan",
                                                .vlan = vlans[i],
                                                .mtu = 2044,
                                                .making = 5}));
  }
}

// The engine may be an enemy's: it does not make itself the uplink of a switch.
TEST(LayOutIpoib, IsNotUsedUnlessTheOperatorsFileListsIt) {
  for (const bool vlan_aware : {true, false}) {
    const SwitchLayout layout = lay_out(infiniband_plan(), some_config(), vlan_aware);
    EXPECT_THAT(layout.uplink_taps, IsEmpty());
    EXPECT_THAT(names_of(layout.links.taps), ElementsAre("pv-db1", "pv-db1.2"));
    EXPECT_THAT(
        layout.report.switches[0].problems,
        ElementsAre("vmnic32 is not listed in [network] uplinks of paravaned.toml and is not "
                    "used: add it there, and restart the daemon"));
  }
}

// A NIC of this name, of a host that has no such adapter.
TEST(LayOutIpoib, IsANicUnlessThePlanSaysWhatItIs) {
  privsep::SwitchPlan plan = infiniband_plan();
  plan.ipoib_uplinks.clear();
  const SwitchLayout layout = lay_out(plan, infiniband_config(), true);
  EXPECT_THAT(layout.uplink_taps, IsEmpty());
  EXPECT_THAT(names_of(layout.links.uplinks), ElementsAre("vmnic32"));
}

TEST(LayOutIpoib, AHostHasAsManyTapsAndSaysWhichVlansHaveNone) {
  privsep::SwitchPlan plan = infiniband_plan();
  plan.taps.clear();
  plan.switches[0].vlans.clear();
  for (std::uint32_t vlan = 1; vlan <= kMaxUplinkTaps + 2; ++vlan) {
    plan.switches[0].vlans.push_back(vlan);
  }
  const SwitchLayout layout = lay_out(plan, infiniband_config(), false);
  EXPECT_EQ(layout.uplink_taps.size(), kMaxUplinkTaps);
  EXPECT_EQ(layout.links.taps.size(), kMaxUplinkTaps);
  EXPECT_THAT(layout.report.switches[0].problems,
              ElementsAre("the limit of 64 taps of IPoIB uplinks is reached: VLAN 65, 66 has no "
                          "uplink and cannot reach other hosts"));
  EXPECT_THAT(lay_out(plan, infiniband_config(), true).report.switches[0].problems, IsEmpty());
}

// ---- VMs that tag their frames themselves ----

privsep::SwitchPlan guests_plan() {
  privsep::SwitchPlan plan = infiniband_plan();
  plan.switches[0].vlans.push_back(4095);
  plan.taps.push_back({.vm = "fw", .adapter = 1, .vds = "lan", .vlan = 4095});
  return plan;
}

TEST(LayOutGuestVlans, HasABridgeOfItsOwnWithATapThatCarriesAll) {
  for (const bool vlan_aware : {true, false}) {
    const SwitchLayout layout = lay_out(guests_plan(), infiniband_config(), vlan_aware);
    EXPECT_THAT(layout.report.switches[0].problems, IsEmpty());
    EXPECT_EQ(layout.report.switches[0].bridges.back(), "pvs-lan+4095");
    EXPECT_FALSE(layout.links.bridges.back().vlan_aware);
    EXPECT_EQ(layout.uplink_taps.back(), (UplinkTap{.name = "vmnic32+4095",
                                                    .uplink = "vmnic32",
                                                    .vds = "lan",
                                                    .vlan = 4095,
                                                    .tagged = true,
                                                    .mtu = 2044,
                                                    .making = 5}));
    EXPECT_EQ(layout.uplink_taps.size(), vlan_aware ? 2u : 4u);
    EXPECT_THAT(layout.links.taps[0].tagged, testing::Not(testing::Contains(4095)));
    const ethernet::WantedPort& of_vm = layout.links.taps.back();
    EXPECT_EQ(of_vm.name, "pv-fw");
    EXPECT_EQ(of_vm.bridge, "pvs-lan+4095");
    EXPECT_EQ(of_vm.untagged, 0);
    EXPECT_THAT(of_vm.tagged, IsEmpty());
  }
}

TEST(LayOutGuestVlans, SaysWithoutAnIpoibUplinkThatNoOtherVlanIsReached) {
  privsep::SwitchPlan plan = guests_plan();
  plan.ipoib_uplinks.clear();
  for (const std::string uplink : {"nic", ""}) {
    plan.switches[0].uplink = uplink;
    const SwitchLayout layout = lay_out(plan, infiniband_config(), true);
    EXPECT_THAT(
        layout.report.switches[0].problems,
        ElementsAre("VLAN 4095 (guest VLAN tagging) needs an IPoIB uplink: without one, its "
                    "VMs reach only each other. Set an IPoIB uplink, or use a port group "
                    "for each VLAN"));
    EXPECT_EQ(layout.links.taps.back().bridge, "pvs-lan+4095");
  }
}

TEST(LayOutGuestVlans, IsNotUsedUnlessTheOperatorsFileListsTheUplink) {
  const SwitchLayout layout = lay_out(guests_plan(), some_config(), false);
  EXPECT_THAT(layout.uplink_taps, IsEmpty());
  EXPECT_EQ(layout.report.switches[0].problems.size(), 1u);
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

TEST(SwitchBuilder, MakesOpensAndRemovesTheTapsOfAnIpoibUplink) {
  const OwnNetwork network;
  ASSERT_TRUE(network.made()) << "needs root";
  privsep::SwitchPlan plan = infiniband_plan();
  SwitchBuilderConfig config = infiniband_config();
  config.tap_access.group = 12345;
  SwitchBuilder builder(config);
  LocalSwitches& host = builder;
  const privsep::SwitchReport report = host.make(plan);
  ASSERT_EQ(report.switches.size(), 1u);
  EXPECT_THAT(report.switches[0].problems, IsEmpty());
  const bool is_plain = report.switches[0].form == SwitchForm::kPlain;
  std::vector<std::string> names{"vmnic32"};
  if (is_plain) names.insert(names.end(), {"vmnic32+10", "vmnic32+20"});
  auto opened = host.take_opened_taps();
  ASSERT_EQ(opened.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(opened[i].wanted.name, names[i]);
    EXPECT_EQ(opened[i].wanted.tagged, !is_plain);
    for (const char* what :
         {"mtu 2044", "alias paravane:1:uplink:vmnic32", "master pvs-lan", "user root", ",UP"}) {
      EXPECT_TRUE(network.ip_shows("-details link show dev " + names[i], what))
          << names[i] << ": " << what;
    }
    EXPECT_FALSE(network.ip_shows("-details link show dev " + names[i], "group 12345"));
    EXPECT_TRUE(host.about().names.contains(names[i]));
  }
  // While the engine has them, which has said nothing of their link.
  EXPECT_THAT(host.make(plan).switches[0].problems, IsEmpty());
  EXPECT_THAT(host.take_opened_taps(), IsEmpty());
  opened.clear();
  plan.switches[0].uplink.clear();
  plan.ipoib_uplinks.clear();
  EXPECT_THAT(host.make(plan).mended, IsEmpty());
  EXPECT_FALSE(network.ip_shows("link", "vmnic32"));
}

TEST(SwitchBuilder, SaysThatALoneUplinkHasNoLinkAndWhatHelps) {
  const OwnNetwork network;
  ASSERT_TRUE(network.ip("link add nic type veth peer name far")) << "needs root";
  SwitchBuilder builder(infiniband_config());
  const auto problems = [&builder](const privsep::SwitchPlan& plan) {
    builder.make(plan);  // it is brought up
    return builder.make(plan).switches[0].problems;
  };
  constexpr const char* kNicHasNone =
      "nic: it has no link, so no frame passes it. Check its cable, and the port at the other end";
  EXPECT_THAT(problems(some_plan()), testing::Contains(kNicHasNone));
  ASSERT_TRUE(network.ip("link set far up"));
  EXPECT_THAT(problems(some_plan()), testing::Not(testing::Contains(kNicHasNone)));
  // While the engine has not opened it, or its port is not Active, a tap has no carrier.
  LocalSwitches& host = builder;
  constexpr const char* kTapHasNone =
      "vmnic32: it has no link, so no frame passes it. See why with: paravane infiniband uplink "
      "list";
  builder.make(infiniband_plan());
  host.take_opened_taps().clear();
  EXPECT_THAT(problems(infiniband_plan()), ElementsAre(kTapHasNone));
  // Another engine is about to get it.
  host.take_back_all();
  EXPECT_THAT(builder.make(infiniband_plan()).switches[0].problems, IsEmpty());
  host.take_opened_taps().clear();
  EXPECT_THAT(problems(infiniband_plan()), ElementsAre(kTapHasNone));
}

TEST(SwitchBuilder, OpensTapsOfUplinksAgainForAnotherEngineOrWhenTheyAreLost) {
  const OwnNetwork network;
  ASSERT_TRUE(network.made()) << "needs root";
  const privsep::SwitchPlan plan = infiniband_plan();
  SwitchBuilder builder(infiniband_config());
  LocalSwitches& host = builder;
  host.make(plan);
  const std::size_t all = host.take_opened_taps().size();
  EXPECT_GE(all, 1u);
  host.make(plan);
  EXPECT_THAT(host.take_opened_taps(), IsEmpty());
  host.take_back_all();
  host.make(plan);
  auto opened = host.take_opened_taps();
  EXPECT_EQ(opened.size(), all);
  host.take_back(opened.front());
  opened.clear();
  host.make(plan);
  EXPECT_EQ(host.take_opened_taps().size(), 1u);
  // Another program's deed.
  ASSERT_TRUE(network.ip("link del vmnic32"));
  const privsep::SwitchReport report = host.make(plan);
  ASSERT_EQ(report.mended.size(), 1u);
  EXPECT_EQ(report.mended[0].vds, "lan");
  EXPECT_EQ(report.mended[0].text, "it was missing and was created again");
  EXPECT_EQ(host.take_opened_taps().size(), 1u);
}

TEST(SwitchBuilder, AForeignInterfaceWithAnUplinksNameIsLeftAloneAndToldOfItsSwitch) {
  const OwnNetwork network;
  ASSERT_TRUE(network.ip("tuntap add vmnic32 mode tap")) << "needs root";
  SwitchBuilder host(infiniband_config());
  const privsep::SwitchReport report = host.make(infiniband_plan());
  EXPECT_THAT(report.switches[0].problems,
              ElementsAre(HasSubstr("vmnic32: an interface that Paravane did not create")));
  EXPECT_FALSE(network.ip_shows("link show dev vmnic32", "master"));
  for (const OpenedUplinkTap& tap : host.take_opened_taps()) EXPECT_NE(tap.wanted.name, "vmnic32");
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
