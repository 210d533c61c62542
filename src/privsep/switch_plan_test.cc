#include "privsep/switch_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace paravane::privsep {
namespace {

using testing::HasSubstr;

SwitchPlan some_plan() {
  return {.switches = {{.name = "lan", .mtu = 9000, .uplink = "eth1", .vlans = {0, 10, 4094}},
                       {.name = "dmz", .mtu = 1500, .uplink = "", .vlans = {}}},
          .taps = {{.vm = "db1", .adapter = 2, .vds = "lan", .vlan = 10}}};
}

const std::string kHead = "paravane-switch-plan 1;";

TEST(SwitchPlan, ComesBackAsItWas) {
  const auto text = print(some_plan());
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, kHead + "switch lan 9000 eth1 0 10 4094;switch dmz 1500 -;tap db1 2 lan 10;");
  const auto plan = parse_switch_plan(*text);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(*plan, some_plan());
  EXPECT_EQ(*parse_switch_plan(kHead), SwitchPlan{});
}

TEST(SwitchPlan, HasPortGroupsWhoseVmsTagTheirFrames) {
  EXPECT_TRUE(parse_switch_plan(kHead + "switch lan 1500 - 10 4095;tap db1 1 lan 4095;"));
  EXPECT_FALSE(parse_switch_plan(
      kHead + "switch lan 1500 - 10 4095;vmknic vmk1 lan 4095 00:50:56:00:00:01 -;"));
}

TEST(SwitchPlan, RefusesWhatBreaksARule) {
  for (const char* bad : {"switch",
                          "switch lan",
                          "switch lan 1500",
                          "switch Lan 1500 -",
                          "switch ../x 1500 -",
                          "switch lan 1279 -",
                          "switch lan 9217 -",
                          "switch lan 99999999999 -",
                          "switch lan -1 -",
                          "switch lan 1500 lo",
                          "switch lan 1500 a/b",
                          "switch lan 1500 sixteen-letters.",
                          "switch lan 1500 - 10 10",
                          "switch lan 1500 - 10 9",
                          "switch lan 1500 - 4096",
                          "switch lan 1500 - x",
                          "switch lan 1500 -  10",
                          "switch  lan 1500 -",
                          "switch lan 1500",
                          "switch lan 1500 -;switch lan 1500 -",
                          "switch lan 1500 eth1;switch dmz 1500 eth1",
                          "tap db1 1 lan 0",
                          "switch lan 1500 - 10;tap db1 1 lan 0",
                          "switch lan 1500 - 0;tap db1 0 lan 0",
                          "switch lan 1500 - 0;tap db1 9 lan 0",
                          "switch lan 1500 - 0;tap DB1 1 lan 0",
                          "switch lan 1500 - 0;tap db1 1 lan 0 0",
                          "switch lan 1500 - 0;tap db1 1 lan",
                          "switch lan 1500 - 0;tap db1 1 lan 0;tap db1 1 lan 0",
                          "bridge lan",
                          "",
                          " ",
                          "switch"}) {
    EXPECT_FALSE(parse_switch_plan(kHead + bad + ";")) << bad;
  }
  EXPECT_FALSE(parse_switch_plan(""));
  EXPECT_FALSE(parse_switch_plan("paravane-switch-plan 2;"));
  EXPECT_FALSE(parse_switch_plan(kHead + "switch lan 1500 -"));  // cut off
}

TEST(SwitchPlan, NamesStandbyUplinksBehindTheirSwitch) {
  SwitchPlan plan = some_plan();
  plan.switches[0].standby = {"eth2", "vmnic32"};
  plan.ipoib_uplinks = {{.name = "vmnic32", .making = 3}};
  const auto text = print(plan);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, kHead +
                       "switch lan 9000 eth1 0 10 4094;standby lan eth2 vmnic32;"
                       "switch dmz 1500 -;tap db1 2 lan 10;ipoib vmnic32 3;");
  EXPECT_EQ(*parse_switch_plan(*text), plan);
  EXPECT_EQ(uplinks_of(plan.switches[0]), (std::vector<std::string>{"eth1", "eth2", "vmnic32"}));
  EXPECT_EQ(switch_of_uplink(plan, "eth2"), &plan.switches[0]);
  EXPECT_EQ(switch_of_uplink(plan, "eth9"), nullptr);
  EXPECT_EQ(switch_of_uplink(plan, ""), nullptr);
}

TEST(SwitchPlan, RefusesTeamsThatBreakARule) {
  const std::string lan = "switch lan 1500 eth1 0;";
  for (const char* bad :
       {"standby lan", "standby lan ", "standby lan  eth2", "standby dmz eth2", "standby lan eth1",
        "standby lan eth2 eth2", "standby lan lo", "standby lan a/b",
        "standby lan eth2;standby lan eth3", "standby lan a b c d e f g h",
        "standby lan a b c d e f g h i", "standby lan eth2;switch dmz 1500 eth2 0",
        "switch dmz 1500 eth2 0;standby dmz eth1", "switch dmz 1500 eth2 0;standby lan eth3",
        "switch dmz 1500 - 0;standby dmz eth3"}) {
    EXPECT_FALSE(parse_switch_plan(kHead + lan + bad + ";")) << bad;
  }
  EXPECT_FALSE(parse_switch_plan(kHead + "standby lan eth2;" + lan));
  EXPECT_TRUE(parse_switch_plan(kHead + lan + "standby lan a b c d e f g;"));
}

TEST(SwitchPlan, ATapOfAServiceIsItsRocePort) {
  const std::string lan = "switch lan 1500 - 10 4095;";
  const std::string port = "roce vmhba32 0 02:50:56:a2:b3:01 7;";
  const auto plan = parse_switch_plan(kHead + lan + "tap vmhba32 0 lan 10;" + port);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->roce_ports.at(0).adapter, 0u);
  for (const std::string& bad :
       {"tap vmhba32 0 lan 10;" + std::string(), "tap vmhba32 0 lan 4095;" + port, port,
        std::string("tap vmhba31 0 lan 10;roce vmhba31 0 02:50:56:a2:b3:01 7;"),
        std::string("tap db1 0 lan 10;roce db1 0 02:50:56:a2:b3:01 7;")}) {
    EXPECT_FALSE(parse_switch_plan(kHead + lan + bad)) << bad;
  }
}

TEST(SwitchPlan, ATapMayStandBeforeItsSwitch) {
  EXPECT_TRUE(parse_switch_plan(kHead + "tap db1 1 lan 0;switch lan 1500 - 0;"));
}

TEST(SwitchPlan, NamesTheUplinksThatInfinibandMakes) {
  SwitchPlan plan{
      .switches = {{.name = "lan", .mtu = 2044, .uplink = "vmnic32", .vlans = {0}},
                   {.name = "dmz", .mtu = 1500, .uplink = "vmnic47", .vlans = {}}},
      .ipoib_uplinks = {{.name = "vmnic32", .making = 7}, {.name = "vmnic47", .making = 0}}};
  const auto text = print(plan);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, kHead +
                       "switch lan 2044 vmnic32 0;switch dmz 1500 vmnic47;ipoib vmnic32 7;"
                       "ipoib vmnic47 0;");
  const auto again = parse_switch_plan(*text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, plan);
}

TEST(SwitchPlan, AnIpoibUplinkIsASwitchsAndHasSuchAName) {
  const auto parse = [](const std::string& uplink, const std::string& statements) {
    return parse_switch_plan(kHead + "switch lan 1500 " + uplink + ";" + statements);
  };
  ASSERT_TRUE(parse("vmnic33", "ipoib vmnic33 1;"));
  EXPECT_TRUE(parse("vmnic33", ""));  // of a host that does not have it
  const auto elsewhere = parse("vmnic33", "ipoib vmnic34 1;");
  ASSERT_FALSE(elsewhere);
  EXPECT_THAT(elsewhere.error().message, HasSubstr("an IPoIB uplink belongs to an unknown switch"));
  EXPECT_FALSE(parse("-", "ipoib vmnic33 1;"));
  EXPECT_FALSE(parse("vmnic33", "ipoib vmnic33 1;ipoib vmnic33 2;"));
  // A NIC is never made: it would be another program's interface.
  for (const char* nic : {"eth1", "vmnic31", "vmnic48", "vmnic033", "pv-db1"}) {
    EXPECT_FALSE(parse(nic, std::string("ipoib ") + nic + " 1;")) << nic;
  }
  for (const char* bad : {"ipoib;", "ipoib vmnic33;", "ipoib vmnic33 x;", "ipoib vmnic33 -1;",
                          "ipoib vmnic33 4294967296;", "ipoib vmnic33 1 1;"}) {
    EXPECT_FALSE(parse("vmnic33", bad)) << bad;
  }
}

TEST(SwitchPlan, HasAnEnd) {
  std::string many = kHead;
  for (std::size_t i = 0; i <= model::kMaxSwitches; ++i) {
    many += "switch s" + std::to_string(i) + " 1500 -;";
  }
  EXPECT_THAT(parse_switch_plan(many).error().message, HasSubstr("too many switches"));
  const std::string filler(kMaxPlanText, ' ');
  EXPECT_THAT(parse_switch_plan(kHead + filler).error().message, HasSubstr("too long"));
  SwitchPlan plan = some_plan();
  plan.taps.assign(10'000, plan.taps[0]);
  EXPECT_EQ(print(plan).error().code, Errc::kResourceExhausted);
}

TEST(SwitchReport, ComesBackAsItWas) {
  const SwitchReport report{
      .switches = {{.name = "lan",
                    .form = model::SwitchForm::kPlain,
                    .bridges = {"pvs-lan", "pvs-lan+10"},
                    .problems = {"eth1: no such NIC on this host", "another"},
                    .active = "eth2"},
                   {.name = "dmz", .form = model::SwitchForm::kVlanAware}},
      .taps = {{.vm = "db1",
                .adapter = 2,
                .problem = "pv-db1.2: an interface has this name",
                .fault = model::LinkFault::kForeign}},
      .unmerged = {{.vm = "db1", .adapter = 2, .why = "this kernel lacks the action pedit"}},
      .mended = {{.vds = "lan", .interface = "pvs-lan", .text = "it was down and was brought up"},
                 {.interface = "pv-gone", .text = "it was no longer needed and was removed"}},
      .problem = ""};
  const auto again = parse_switch_report(print(report));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, report);
  const SwitchReport failed{.problem = "cannot create a bridge: Operation not permitted",
                            .fault = model::LinkFault::kNoBridges};
  EXPECT_EQ(*parse_switch_report(print(failed)), failed);
}

TEST(SwitchReport, WordsOfTheKernelBreakNoStatement) {
  const SwitchReport report{.problem = "a;b\nc\x80"};
  EXPECT_EQ(parse_switch_report(print(report))->problem, "a,b?c?");
}

TEST(SwitchReport, IsCutWhereItIsTooLong) {
  SwitchReport report{.switches = {{.name = "lan"}}};
  report.switches[0].problems.assign(1000, std::string(1000, 'x'));
  const std::string text = print(report);
  EXPECT_LE(text.size(), kMaxReportText);
  EXPECT_TRUE(parse_switch_report(text));
}

TEST(SwitchReport, RefusesJunk) {
  const std::string head = "paravane-switch-report 1;";
  for (const char* bad :
       {"switch lan", "switch lan x", "bridge b", "problem p", "tap", "tap a", "tap a x y",
        "tap a 1 odd y", "failed", "failed odd x", "mended", "mended lan", "junk"}) {
    EXPECT_FALSE(parse_switch_report(head + bad + ";")) << bad;
  }
}

}  // namespace
}  // namespace paravane::privsep
