#include "model/closed_channel.h"

#include <gtest/gtest.h>

namespace paravane::model {
namespace {

TEST(ClosedChannelTest, ReasonsAreReadAsTheyArePrinted) {
  for (const ClosedBy reason :
       {ClosedBy::kOther, ClosedBy::kRuleset, ClosedBy::kTag, ClosedBy::kInventory}) {
    EXPECT_EQ(parse_closed_by(print(reason)), reason);
  }
  EXPECT_EQ(parse_closed_by("a reason of a later release"), ClosedBy::kOther);
}

TEST(ClosedChannelTest, ARemedyIsMadeOfTheReason) {
  EXPECT_EQ(reopen(ClosedBy::kRuleset, "vmk0"),
            "paravane network firewall ruleset set -e true -r pvrdma");
  EXPECT_EQ(reopen(ClosedBy::kTag, "vmk3"),
            "paravane system settings advanced set -o /Net/PVRDMAVmknic -s vmk3");
  EXPECT_EQ(reopen(ClosedBy::kInventory, "vmk0"), "paravane cluster status");
  EXPECT_EQ(reopen(ClosedBy::kOther, "vmk0"), "");
}

TEST(ClosedChannelTest, IsShownWithItsRemedyWhereThereIsOne) {
  EXPECT_EQ(describe(ClosedChannel{.why = "it is shut"}), "it is shut");
  EXPECT_EQ(describe(ClosedChannel{.why = "it is shut", .remedy = "open it"}),
            "it is shut (open it)");
  EXPECT_EQ(describe(ChannelProblem{.text = "no answer", .remedy = "start it", .host = "h2"}),
            "no answer (start it)");
}

}  // namespace
}  // namespace paravane::model
