#include "keeper/uplink_offloads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "ethernet/udp_segmentation.h"
#include "testing/own_network.h"

namespace paravane::keeper {
namespace {

using testing::IsEmpty;

// A switch with an uplink, and an adapter in it that has a RoCE port.
privsep::SwitchPlan plan_with_port() {
  return {.switches = {{.name = "lan", .uplink = "nic", .vlans = {0}}},
          .taps = {{.vm = "db1", .adapter = 1, .vds = "lan"}},
          .roce_ports = {{.vm = "db1", .adapter = 1}}};
}

class UplinkOffloadsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(network_.made()) << "needs root";
    ASSERT_TRUE(network_.ip("link add nic type veth peer name far"));
    turn_on();
  }
  static void turn_on() {
    ASSERT_EQ(std::system("ethtool -K nic tx-udp-segmentation on >/dev/null"), 0);
    ASSERT_EQ(ethernet::cuts_udp("nic"), true);
  }
  static privsep::SwitchReport make(UplinkOffloads& offloads, const privsep::SwitchPlan& plan) {
    privsep::SwitchReport report{.switches = {{.name = "lan"}}};
    offloads.make(plan, report);
    return report;
  }

  OwnNetwork network_;
  UplinkOffloads offloads_{{"nic"}, {}};
};

TEST_F(UplinkOffloadsTest, AnUplinkOfRocePortsDoesNotCutUdpApart) {
  const privsep::SwitchReport report = make(offloads_, plan_with_port());
  EXPECT_EQ(ethernet::cuts_udp("nic"), false);
  EXPECT_THAT(report.mended, IsEmpty()) << "another program did nothing";
  EXPECT_THAT(report.switches[0].problems, IsEmpty());
}

TEST_F(UplinkOffloadsTest, WhatAnotherProgramTurnsOnIsTurnedOffAgainAndTold) {
  make(offloads_, plan_with_port());
  turn_on();
  const privsep::SwitchReport report = make(offloads_, plan_with_port());
  EXPECT_EQ(ethernet::cuts_udp("nic"), false);
  ASSERT_EQ(report.mended.size(), 1u);
  EXPECT_EQ(report.mended[0],
            (model::MendedLink{.vds = "lan",
                               .interface = "nic",
                               .text = "tx-udp-segmentation was on and was turned off"}));
}

TEST_F(UplinkOffloadsTest, OtherUplinksStayAsTheyAre) {
  privsep::SwitchPlan no_port = plan_with_port();
  no_port.roce_ports.clear();
  make(offloads_, no_port);
  EXPECT_EQ(ethernet::cuts_udp("nic"), true) << "no RoCE port";
  UplinkOffloads trusted({"nic"}, {"nic"});
  make(trusted, plan_with_port());
  EXPECT_EQ(ethernet::cuts_udp("nic"), true) << "the operator vouches for it";
  UplinkOffloads not_given({"other"}, {});
  make(not_given, plan_with_port());
  EXPECT_EQ(ethernet::cuts_udp("nic"), true) << "not one of ours";
}

TEST_F(UplinkOffloadsTest, AnUplinkThatIsMissingIsAnotherProblem) {
  ASSERT_TRUE(network_.ip("link delete nic"));
  EXPECT_EQ(make(offloads_, plan_with_port()),
            (privsep::SwitchReport{.switches = {{.name = "lan"}}}));
}

}  // namespace
}  // namespace paravane::keeper
