// What check_vm() says of RDMA adapters as uplinks that drop packets when the network is congested.

#include <gtest/gtest.h>

#include "model/check_facts_test.h"

namespace paravane::model {
namespace {

constexpr const char* kCheck = "Switch lan: flow control";
constexpr const char* kNeither =
    "vmnic1 (eth1), the NIC of vmrdma0, has neither pause frames in both directions nor priority "
    "flow control: a congested network drops RDMA packets";

class VmCheckFlowControl : public testing::Test {
 protected:
  VmCheckFlowControl() {
    facts_.machine.rdma_devices = {{.name = "vmrdma0", .paired_link = "eth1", .roce_v2 = true}};
    nic().pause.emplace();
  }
  PhysicalNic& nic() { return facts_.machine.nics[1]; }
  CheckRow row() const { return row_of(facts_, kCheck); }
  bool is_checked() const {
    for (const CheckRow& one : check_vm(facts_)) {
      if (one.check == kCheck) return true;
    }
    return false;
  }

  VmCheckFacts facts_ = good_facts();
};

TEST_F(VmCheckFlowControl, AnUplinkWithoutAnyIsAWarningWithTheCommandThatItsDriverUnderstands) {
  EXPECT_EQ(row(), warning(kCheck, kNeither,
                           "ethtool -A eth1 rx on tx on   # and on the port of the physical "
                           "switch"));
  nic().pause.reset();
  nic().dcb = true;
  nic().pfc = 0;
  EXPECT_EQ(row(), warning(kCheck, kNeither,
                           "dcb pfc set dev eth1 prio-pfc 3:on   # and on the port of the physical "
                           "switch"));
  nic().dcb = false;
  nic().pfc.reset();
  EXPECT_EQ(row(), warning(kCheck, kNeither,
                           "paravane network nic list   # choose an uplink whose driver supports "
                           "one of the two; that of eth1 does not"));
}

TEST_F(VmCheckFlowControl, PauseFramesCountInBothDirectionsAlone) {
  nic().pause->set = {.rx = true};
  EXPECT_EQ(row().verdict, Verdict::kWarning);
  nic().pause->set = {.rx = true, .tx = true};
  EXPECT_EQ(row(), good(kCheck, "pause frames in both directions"));
}

TEST_F(VmCheckFlowControl, WhatBothEndsAgreedOnCounts) {
  nic().pause = {.set = {.rx = true, .tx = true}, .auto_negotiation = true, .negotiated = {{}}};
  EXPECT_EQ(row().verdict, Verdict::kWarning) << "the other end has none";
}

TEST_F(VmCheckFlowControl, OnePriorityIsEnough) {
  nic().pfc = 1U << 3U;
  EXPECT_EQ(row(), good(kCheck, "priority flow control for priority 3"));
}

TEST_F(VmCheckFlowControl, OnlyRoceOnAnUplinkThatIsUsedIsChecked) {
  ASSERT_TRUE(is_checked());
  facts_.machine.rdma_devices[0].iwarp = true;
  EXPECT_FALSE(is_checked());
  facts_.machine.rdma_devices[0].iwarp = false;
  facts_.machine.rdma_devices[0].paired_link = "eth0";
  EXPECT_FALSE(is_checked());
  facts_.machine.rdma_devices[0].paired_link = "eth1";
  facts_.cluster = {};
  EXPECT_FALSE(is_checked()) << "no packet leaves the host";
  facts_.port_groups[0].native_roce = true;
  EXPECT_TRUE(is_checked());
}

}  // namespace
}  // namespace paravane::model
