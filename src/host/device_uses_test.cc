#include "host/device_uses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::host {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class DeviceUses : public testing::Test {
 protected:
  DeviceUses() {
    network_.switches["lan"].hosts = {{"h1", "eth1"}, {"h2", "eth2"}};
    network_.switches["san"].hosts = {{"h1", ""}};
  }
  void look() { add_uses(trunks_, network_, "h1", devices_); }

  model::Network network_;
  std::vector<worker::OpenTrunk> trunks_;
  std::vector<model::RdmaDevice> devices_ = {
      {.linux_name = "mlx5_0", .port = 1, .paired_link = "eth1"},
      {.linux_name = "mlx5_0", .port = 2, .paired_link = "eth2"},
      {.linux_name = "ib0", .port = 1}};
};

TEST_F(DeviceUses, AnUplinkIsThatOfThisHost) {
  look();
  EXPECT_EQ(devices_[0].uplink_of, "lan");
  EXPECT_EQ(devices_[1].uplink_of, "") << "eth2 is the uplink of h2";
  EXPECT_EQ(devices_[2].uplink_of, "") << "it has no NIC, and san has no uplink here";
}

TEST_F(DeviceUses, ATrunkUsesOnePortOfADevice) {
  trunks_ = {{.host = "h2", .device = "mlx5_0", .port = 2},
             {.host = "h3", .device = "mlx5_0", .port = 2},
             {.host = "h4", .device = "mlx5_1", .port = 1}};
  look();
  EXPECT_THAT(devices_[0].trunks, IsEmpty());
  EXPECT_THAT(devices_[1].trunks, ElementsAre("h2", "h3"));
}

TEST_F(DeviceUses, WhatIsNotUsedAnyMoreIsNotSaid) {
  trunks_ = {{.host = "h2", .device = "mlx5_0", .port = 1}};
  look();
  trunks_.clear();
  network_.switches.clear();
  look();
  EXPECT_THAT(devices_[0].trunks, IsEmpty());
  EXPECT_EQ(devices_[0].uplink_of, "");
}

}  // namespace
}  // namespace paravane::host
