#include "model/interface_name.h"

#include <gtest/gtest.h>

namespace paravane::model {
namespace {

TEST(TapName, DiffersBetweenAdapters) {
  EXPECT_EQ(tap_name("db1", 2), "pv-db1.2");
  EXPECT_NE(tap_name("a-rather-long-name", 2), tap_name("a-rather-long-name", 3));
}

TEST(TapName, FitsLinux) {
  EXPECT_EQ(tap_name("db1"), "pv-db1");
  EXPECT_EQ(tap_name("exactly12chr"), "pv-exactly12chr");
  const std::string first = tap_name("a-rather-long-name-1");
  const std::string second = tap_name("a-rather-long-name-2");
  EXPECT_EQ(first.size(), 15u);
  EXPECT_EQ(second.size(), 15u);
  EXPECT_NE(first, second);
}

TEST(RocePortName, DiffersFromThoseOfItsPair) {
  EXPECT_EQ(roce_port_name("db1"), "pvr-db1");
  EXPECT_EQ(merging_end_name("db1", 2), "pvm-db1.2");
  EXPECT_EQ(filling_end_name("db1"), "pvf-db1");
  for (const auto& name :
       {merging_end_name("a-rather-long-name", 2), filling_end_name("a-rather-long-name", 2)}) {
    EXPECT_EQ(name.size(), 15u);
    EXPECT_NE(name, roce_port_name("a-rather-long-name", 2));
  }
}

TEST(BridgeName, DiffersFromEveryTapAndVlan) {
  EXPECT_EQ(bridge_name("lan"), "pvs-lan");
  EXPECT_EQ(bridge_name("lan", 0), "pvs-lan");
  EXPECT_EQ(bridge_name("lan", 10), "pvs-lan+10");
  const std::string first = bridge_name("a-rather-long-name", 4094);
  EXPECT_EQ(first.size(), 15u);
  EXPECT_NE(first, bridge_name("a-rather-long-name", 4093));
  EXPECT_NE(first, bridge_name("a-rather-long-name"));
}

TEST(UplinkTapName, IsTheUplinksAndIsNeverCut) {
  EXPECT_EQ(uplink_tap_name("vmnic32", 0), "vmnic32");
  EXPECT_EQ(uplink_tap_name("vmnic47", 4094), "vmnic47+4094");
}

}  // namespace
}  // namespace paravane::model
