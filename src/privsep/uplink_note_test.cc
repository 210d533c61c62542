#include "privsep/uplink_note.h"

#include <gtest/gtest.h>

namespace paravane::privsep {
namespace {

TEST(UplinkNote, ComesBackAsItWas) {
  const UplinkNote tagged{.uplink = "vmnic32", .tagged = true, .making = 4294967295, .mtu = 9216};
  EXPECT_EQ(print(tagged), "vmnic32 tagged 4294967295 9216");
  const UplinkNote plain{.uplink = "vmnic47", .vlan = 4094, .making = 0, .mtu = 2044};
  EXPECT_EQ(print(plain), "vmnic47 4094 0 2044");
  const UplinkNote guests{.uplink = "vmnic33", .vlan = 4095, .tagged = true, .making = 1};
  EXPECT_EQ(print(guests), "vmnic33 guests 1 1500");
  for (const UplinkNote& note : {tagged, plain, guests, UplinkNote{.uplink = "vmnic40"}}) {
    const auto again = parse_uplink_note(print(note));
    ASSERT_TRUE(again) << print(note);
    EXPECT_EQ(*again, note);
  }
}

TEST(UplinkNote, RefusesWhatIsNone) {
  for (const char* bad : {"",
                          " ",
                          "vmnic32",
                          "vmnic32 0",
                          "vmnic32 0 1",
                          "vmnic32 0 1 ",
                          "vmnic32 0 1 1500 ",
                          "vmnic32 0 1 1500 1",
                          "vmnic32 4095 1 1500",
                          "vmnic32 -1 1 1500",
                          "vmnic32 10x 1 1500",
                          "vmnic32 Tagged 1 1500",
                          "vmnic32 guest 1 1500",
                          "vmnic32  1 1500",
                          "vmnic32 0 x 1500",
                          "vmnic32 0 4294967296 1500",
                          "vmnic32 0 1 1279",
                          "vmnic32 0 1 9217",
                          "vmnic32 0 1 x",
                          "vmnic31 0 1 1500",
                          "vmnic48 0 1 1500",
                          "eth1 0 1 1500",
                          " 0 1 1500"}) {
    EXPECT_FALSE(parse_uplink_note(bad)) << bad;
  }
}

}  // namespace
}  // namespace paravane::privsep
