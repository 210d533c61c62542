#include "ethernet/udp_segmentation.h"

#include <gtest/gtest.h>

#include "testing/own_network.h"

namespace paravane::ethernet {
namespace {

TEST(UdpSegmentation, IsTurnedOffOnceAndStaysSo) {
  const OwnNetwork network;
  ASSERT_TRUE(network.ip("link add nic type veth peer name far")) << "needs root";
  const auto before = cuts_udp("nic");
  ASSERT_TRUE(before) << before.error().message;
  ASSERT_EQ(cuts_udp("far"), *before);
  EXPECT_EQ(stop_cutting_udp("nic"), *before) << "whether it was on";
  EXPECT_EQ(cuts_udp("nic"), false);
  EXPECT_EQ(cuts_udp("far"), *before) << "of no other interface";
  EXPECT_EQ(stop_cutting_udp("nic"), false);
}

TEST(UdpSegmentation, SaysThatThereIsNoSuchInterface) {
  const OwnNetwork network;
  ASSERT_TRUE(network.made()) << "needs root";
  EXPECT_EQ(cuts_udp("nic").error().code, Errc::kIo);
  EXPECT_EQ(stop_cutting_udp("nic").error().code, Errc::kIo);
  EXPECT_TRUE(stop_cutting_udp("nic").error().message.starts_with("nic: "));
}

}  // namespace
}  // namespace paravane::ethernet
