// Taps of uplinks, opened in a network of their own. How they are laid out and made:
// switch_builder_test; what can be read from them: offload_tap_test.

#include "keeper/ipoib_uplinks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ethernet/offload_tap.h"
#include "ethernet/tap.h"
#include "testing/own_network.h"

namespace paravane::keeper {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class IpoibUplinksTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(network_.made()) << "needs root";
    for (const UplinkTap& tap : taps_) ASSERT_TRUE(ethernet::make_tap(tap.name, {}));
  }
  // The names of those that it opened. They are closed, as an engine does that is told to.
  std::vector<std::string> open() {
    report_ = {.switches = {{.name = "dmz"}, {.name = "lan"}}};
    uplinks_.open(taps_, bad_, report_);
    std::vector<std::string> names;
    opened_ = uplinks_.take_opened();
    for (const OpenedUplinkTap& one : opened_) {
      EXPECT_TRUE(one.tap);
      names.push_back(one.wanted.name);
    }
    return names;
  }

  OwnNetwork network_;
  std::vector<UplinkTap> taps_{
      {.name = "vmnic32", .uplink = "vmnic32", .vds = "lan", .mtu = 2044, .making = 3},
      {.name = "vmnic32+10",
       .uplink = "vmnic32",
       .vds = "lan",
       .vlan = 10,
       .mtu = 2044,
       .making = 3}};
  std::set<std::string> bad_;
  privsep::SwitchReport report_;
  std::vector<OpenedUplinkTap> opened_;
  IpoibUplinks uplinks_;
};

TEST_F(IpoibUplinksTest, AreOpenedOnceWithAllThatTheEngineMustKnow) {
  EXPECT_THAT(open(), ElementsAre("vmnic32", "vmnic32+10"));
  EXPECT_EQ(opened_[1].wanted, taps_[1]);
  EXPECT_THAT(open(), IsEmpty());
  EXPECT_THAT(report_.switches[1].problems, IsEmpty());
}

TEST_F(IpoibUplinksTest, AreOpenedAgainWhenTheEngineDoesNotHaveThem) {
  open();
  uplinks_.take_back(opened_[1]);
  opened_.clear();
  EXPECT_THAT(open(), ElementsAre("vmnic32+10"));
  opened_.clear();
  uplinks_.take_back_all();
  EXPECT_THAT(open(), SizeIs(2));
}

TEST_F(IpoibUplinksTest, AreOpenedAgainWhenTheEngineWantsThemAnewOrOtherwise) {
  open();
  opened_.clear();
  for (UplinkTap& tap : taps_) tap.making = 4;
  EXPECT_THAT(open(), SizeIs(2));
  opened_.clear();
  taps_[0].mtu = 1500;
  EXPECT_THAT(open(), ElementsAre("vmnic32"));
  EXPECT_EQ(opened_[0].wanted.mtu, 1500u);
}

// Two restarts of the adapters, one right after the other: the engine has not closed the tap of the
// first yet, or it is under way to it.
TEST_F(IpoibUplinksTest, OneThatTheEngineIsAboutToCloseIsNoProblemYet) {
  open();
  std::vector<OpenedUplinkTap> engine = std::move(opened_);
  for (const std::uint32_t making : {4u, 5u}) {
    for (UplinkTap& tap : taps_) tap.making = making;
    EXPECT_THAT(open(), IsEmpty());
    EXPECT_THAT(report_.switches[1].problems, IsEmpty()) << making;
  }
  EXPECT_THAT(open(), IsEmpty());
  EXPECT_THAT(report_.switches[1].problems,
              ElementsAre(HasSubstr("vmnic32: cannot open the tap"),
                          HasSubstr("vmnic32+10: cannot open the tap")));
  engine.clear();
  EXPECT_THAT(open(), SizeIs(2));
  EXPECT_THAT(report_.switches[1].problems, IsEmpty());
}

TEST_F(IpoibUplinksTest, OneThatAnotherProgramHasIsAProblemAtOnce) {
  const auto other = ethernet::open_frame_tap("vmnic32");
  ASSERT_TRUE(other);
  EXPECT_THAT(open(), ElementsAre("vmnic32+10"));
  EXPECT_THAT(report_.switches[1].problems, ElementsAre(HasSubstr("vmnic32: cannot open the tap")));
}

TEST_F(IpoibUplinksTest, AreOpenedAgainWhenTheirInterfaceWasReplaced) {
  open();
  ASSERT_TRUE(network_.ip("link del vmnic32+10"));
  ASSERT_TRUE(ethernet::make_tap("vmnic32+10", {}));
  EXPECT_THAT(open(), ElementsAre("vmnic32+10"));
}

TEST_F(IpoibUplinksTest, AreForgottenWithThePlan) {
  open();
  opened_.clear();
  const UplinkTap second = taps_[1];
  taps_.pop_back();
  EXPECT_THAT(open(), IsEmpty());
  taps_.push_back(second);
  EXPECT_THAT(open(), ElementsAre("vmnic32+10"));
}

// It may be another program's interface.
TEST_F(IpoibUplinksTest, OneWithAProblemIsNotOpened) {
  bad_ = {"vmnic32"};
  EXPECT_THAT(open(), ElementsAre("vmnic32+10"));
  EXPECT_THAT(report_.switches[1].problems, IsEmpty());  // it is told already
  bad_.clear();
  opened_.clear();
  EXPECT_THAT(open(), ElementsAre("vmnic32"));
}

TEST_F(IpoibUplinksTest, OneThatCannotBeOpenedIsAProblemOfItsSwitch) {
  ASSERT_TRUE(network_.ip("link del vmnic32"));
  EXPECT_THAT(open(), ElementsAre("vmnic32+10"));
  EXPECT_THAT(report_.switches[0].problems, IsEmpty());
  EXPECT_THAT(report_.switches[1].problems, ElementsAre(HasSubstr("vmnic32: no such tap")));
  ASSERT_TRUE(ethernet::make_tap("vmnic32", {}));
  EXPECT_THAT(open(), ElementsAre("vmnic32"));
}

}  // namespace
}  // namespace paravane::keeper
