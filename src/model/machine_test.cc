#include "model/machine.h"

#include <gtest/gtest.h>

namespace paravane::model {
namespace {

TEST(Machine, NamesOfIpoibUplinksAreThoseOfSixteenNumbers) {
  for (const char* good : {"vmnic32", "vmnic39", "vmnic47"}) {
    EXPECT_TRUE(is_ipoib_uplink_name(good)) << good;
  }
  for (const char* bad : {"vmnic31", "vmnic48", "vmnic3", "vmnic0", "vmnic032", "vmnic32x", "vmnic",
                          "vmrdma32", "32", "", "vmnic+32", "vmnic320"}) {
    EXPECT_FALSE(is_ipoib_uplink_name(bad)) << bad;
  }
}

}  // namespace
}  // namespace paravane::model
