#include "model/mac_address.h"

#include <gtest/gtest.h>

namespace paravane::model {
namespace {

TEST(MacAddress, ReadsColonsAndDashes) {
  const MacAddress expected{0x02, 0x50, 0x56, 0x0a, 0xff, 0x01};
  EXPECT_EQ(parse_mac("02:50:56:0a:ff:01"), expected);
  EXPECT_EQ(parse_mac("02-50-56-0A-FF-01"), expected);
}

TEST(MacAddress, PrintsWhatItReads) {
  EXPECT_EQ(format_mac(*parse_mac("02:50:56:0A:FF:01")), "02:50:56:0a:ff:01");
}

TEST(MacAddress, RefusesEverythingElse) {
  for (const char* text : {"", "02", "02:50:56:0a:ff", "02:50:56:0a:ff:01:02", "02:50:56:0a:ff:0g",
                           "02:50-56:0a:ff:01", "025056:0aff010203", "02:50:56:0a:ff:01 ",
                           " 2:50:56:0a:ff:01", "02.50.56.0a.ff.01", "+2:50:56:0a:ff:01"}) {
    EXPECT_FALSE(parse_mac(text)) << text;
  }
}

TEST(MacAddress, KnowsWhatCannotBelongToAnAdapter) {
  EXPECT_TRUE(is_unicast({0x00, 0x50, 0x56, 0, 0, 1}));
  EXPECT_FALSE(is_unicast({0, 0, 0, 0, 0, 0}));
  EXPECT_FALSE(is_unicast({0x01, 0, 0x5e, 0, 0, 1}));
  EXPECT_FALSE(is_unicast({0xff, 0xff, 0xff, 0xff, 0xff, 0xff}));
}

TEST(MacAddress, FollowsTheNameForEver) {
  // A promise: a VM that is added again keeps its GUIDs over versions of this program.
  EXPECT_EQ(format_mac(mac_for_name("db1")), "02:50:56:da:9e:ce");
  EXPECT_EQ(mac_for_name("db1"), mac_for_name("db1"));
  EXPECT_NE(mac_for_name("db1"), mac_for_name("db2"));
}

TEST(MacAddress, IsLocalAndUnicastAndTriesAnother) {
  for (unsigned attempt = 0; attempt < 100; ++attempt) {
    const MacAddress mac = mac_for_name("vm", attempt);
    EXPECT_TRUE(is_unicast(mac));
    EXPECT_EQ(mac[0] & 2, 2) << "locally administered";
    EXPECT_NE(mac, mac_for_name("vm", attempt + 1));
  }
}

}  // namespace
}  // namespace paravane::model
