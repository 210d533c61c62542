#include "model/capture.h"

#include <gtest/gtest.h>

namespace paravane::model {
namespace {

TEST(CaptureSpecTest, NamesEitherAVmOrAnUplink) {
  EXPECT_TRUE(check_capture({.vm = "db1"}));
  EXPECT_TRUE(check_capture({.uplink = "vmnic32"}));
  EXPECT_TRUE(check_capture({.uplink = "vmnic47"}));
  EXPECT_FALSE(check_capture({}));
  EXPECT_FALSE(check_capture({.vm = "db1", .uplink = "vmnic32"}));
  EXPECT_FALSE(check_capture({.vm = "-"}));
  for (const char* bad : {"vmnic0", "vmnic31", "vmnic48", "eth0", "vmnic032"})
    EXPECT_FALSE(check_capture({.uplink = bad})) << bad;
}

TEST(CaptureSpecTest, IsCalledByWhatItNames) {
  EXPECT_EQ(captured({.vm = "db1"}), "db1");
  EXPECT_EQ(captured({.uplink = "vmnic32"}), "vmnic32");
}

}  // namespace
}  // namespace paravane::model
