// Ports of a plan, made in a network of its own. Their interfaces and rules: roce_port_test.

#include "keeper/roce_ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "ethernet/tap.h"
#include "model/interface_name.h"
#include "testing/own_network.h"

namespace paravane::keeper {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kMark = "paravane:1:";

privsep::SwitchPlan native_plan() {
  return {.switches = {{.name = "lan", .mtu = 9000, .uplink = "", .vlans = {0}}},
          .taps = {{.vm = "db1", .adapter = 1, .vds = "lan"},
                   {.vm = "db2", .adapter = 2, .vds = "lan"}},
          .roce_ports = {{.vm = "db1", .adapter = 1, .mac = {0x02, 0x50, 0x56, 0, 0, 9}},
                         {.vm = "db2", .adapter = 2, .mac = {0x02, 0x50, 0x56, 0, 0, 10}}}};
}

class RocePortsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(network_.made()) << "needs root";
    for (const auto& [tap, vm] : {std::pair("pv-db1", "db1"), std::pair("pv-db2.2", "db2")}) {
      ASSERT_TRUE(ethernet::make_tap(tap, {}));
      ASSERT_TRUE(network_.ip(std::string("link set ") + tap + " up alias " + kMark + vm));
    }
  }
  privsep::SwitchReport make() {
    privsep::SwitchReport report{.switches = {{.name = "lan"}}};
    ports_.make(plan_, report, about_);
    return report;
  }
  // Of the VMs.
  std::vector<std::string> opened() {
    std::vector<std::string> vms;
    for (const OpenedRocePort& port : ports_.take_opened()) {
      EXPECT_TRUE(port.tap);
      EXPECT_EQ(port.mtu, plan_.switches[0].mtu);
      vms.push_back(port.vm);
    }
    return vms;
  }
  static bool tc(const std::string& words) {
    return std::system(("tc " + words + " >/dev/null 2>&1").c_str()) == 0;
  }

  OwnNetwork network_;
  privsep::SwitchPlan plan_ = native_plan();
  ethernet::LinkFilter about_;
  RocePorts ports_{kMark};
};

TEST_F(RocePortsTest, AreMadeAndOpenedOnce) {
  privsep::SwitchReport made = make();
  made.unmerged.clear();  // which the kernel decides
  EXPECT_EQ(made, (privsep::SwitchReport{.switches = {{.name = "lan"}}}));
  EXPECT_TRUE(network_.is_there("pvr-db1"));
  EXPECT_TRUE(network_.is_there("pvr-db2.2"));
  EXPECT_THAT(opened(), ElementsAre("db1", "db2"));
  make();
  EXPECT_THAT(opened(), IsEmpty());
}

TEST_F(RocePortsTest, AreOpenedAgainWhenTheEngineDoesNotHaveThem) {
  make();
  for (const OpenedRocePort& port : ports_.take_opened()) {
    if (port.vm == "db2") ports_.take_back(port);
  }
  make();
  EXPECT_THAT(opened(), ElementsAre("db2"));
  plan_.roce_ports[0].making = 1;
  make();
  EXPECT_THAT(opened(), ElementsAre("db1"));
  plan_.switches[0].mtu = 1500;
  make();
  EXPECT_THAT(opened(), ElementsAre("db1", "db2"));
}

TEST_F(RocePortsTest, WhatAnotherProgramChangedIsTold) {
  make();
  opened();
  ASSERT_TRUE(tc("qdisc del dev pv-db1 clsact"));
  ASSERT_TRUE(network_.ip("link set pvr-db2.2 down"));
  const privsep::SwitchReport report = make();
  EXPECT_THAT(report.taps, IsEmpty());
  EXPECT_THAT(report.mended,
              ElementsAre(AllOf(Field(&model::MendedLink::vds, "lan"),
                                Field(&model::MendedLink::interface, "pv-db1"),
                                Field(&model::MendedLink::text, HasSubstr("created again"))),
                          AllOf(Field(&model::MendedLink::interface, "pvr-db2.2"),
                                Field(&model::MendedLink::text, HasSubstr("was brought up")))));
  EXPECT_THAT(make().mended, IsEmpty());
}

TEST_F(RocePortsTest, WhatThePlanChangedIsNotToldAsMended) {
  make();
  plan_.switches[0].mtu = 1500;
  plan_.roce_ports[0].mac[5] = 11;
  EXPECT_THAT(make().mended, IsEmpty());
}

TEST_F(RocePortsTest, AreRemovedWithThePlan) {
  make();
  opened();
  plan_.roce_ports.erase(plan_.roce_ports.begin());
  EXPECT_THAT(make().mended, IsEmpty());
  EXPECT_FALSE(network_.is_there("pvr-db1"));
  EXPECT_TRUE(network_.is_there("pvr-db2.2"));
  plan_ = native_plan();
  make();
  EXPECT_THAT(opened(), ElementsAre("db1"));
}

TEST_F(RocePortsTest, ANameThatIsTakenIsAProblemOfItsAdapterAlone) {
  ASSERT_TRUE(network_.ip("link add pvr-db1 type bridge"));
  const privsep::SwitchReport report = make();
  ASSERT_EQ(report.taps.size(), 1u);
  EXPECT_EQ(report.taps[0].vm, "db1");
  EXPECT_THAT(report.taps[0].problem, HasSubstr("pvr-db1: an interface that Paravane did not"));
  EXPECT_THAT(opened(), ElementsAre("db2"));
}

}  // namespace
}  // namespace paravane::keeper
