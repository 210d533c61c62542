#include "ipoib/remote_nodes.h"

#include <gtest/gtest.h>

namespace paravane::ipoib {
namespace {

class RemoteNodesTest : public testing::Test {
 protected:
  static RemoteQueuePair pair(std::uint32_t number, std::uint16_t lid = 7) {
    return {.number = number, .lid = lid};
  }
  void hear(std::uint32_t number, std::uint16_t lid = 7, std::uint16_t vlan = 0) {
    nodes_.heard(vlan, pair(number, lid), now_);
  }
  bool knows(std::uint32_t number, std::uint16_t lid = 7, std::uint16_t vlan = 0) const {
    return nodes_.knows(vlan, pair(number, lid), now_);
  }
  bool knows_lid(std::uint16_t lid, std::uint16_t vlan = 0) const {
    return nodes_.knows(vlan, lid, now_);
  }

  RemoteNodes nodes_;
  Instant now_{std::chrono::hours(3)};
};

TEST_F(RemoteNodesTest, WhatWasHeardIsKnownInItsVlan) {
  EXPECT_FALSE(knows(0x40));
  EXPECT_FALSE(knows_lid(7));
  hear(0x40);
  EXPECT_TRUE(knows(0x40));
  EXPECT_TRUE(knows_lid(7));
  EXPECT_FALSE(knows(0x41));
  EXPECT_FALSE(knows(0x40, 8));
  EXPECT_FALSE(knows_lid(6));
  EXPECT_FALSE(knows_lid(8));
  EXPECT_FALSE(knows(0x40, 7, 5));
  EXPECT_FALSE(knows_lid(7, 5));
}

TEST_F(RemoteNodesTest, ItIsKnownForAnHourAfterItsLastPacket) {
  hear(0x40);
  now_ += RemoteNodes::kLife - Duration(1);
  hear(0x40);
  now_ += RemoteNodes::kLife - Duration(1);
  EXPECT_TRUE(knows(0x40));
  EXPECT_TRUE(knows_lid(7));
  now_ += Duration(1);
  EXPECT_FALSE(knows(0x40));
  EXPECT_FALSE(knows_lid(7));
  hear(0x41);
  EXPECT_TRUE(knows_lid(7)) << "another there is";
  EXPECT_FALSE(knows(0x40));
}

TEST_F(RemoteNodesTest, TheLongestSilentIsForgotten) {
  for (unsigned i = 0; i < RemoteNodes::kMost; ++i) hear(0x100 + i);
  hear(0x100);
  hear(0x40, 9);
  EXPECT_EQ(nodes_.size(), RemoteNodes::kMost);
  EXPECT_TRUE(knows(0x100));
  EXPECT_FALSE(knows(0x101));
  EXPECT_TRUE(knows(0x102));
  EXPECT_TRUE(knows(0x40, 9));
}

TEST_F(RemoteNodesTest, AVlanIsForgottenAlone) {
  hear(0x40);
  hear(0x40, 7, 5);
  hear(0x41, 9, 5);
  nodes_.forget(5);
  EXPECT_EQ(nodes_.size(), 1u);
  EXPECT_TRUE(knows(0x40));
  EXPECT_FALSE(knows(0x40, 7, 5));
  nodes_.clear();
  EXPECT_EQ(nodes_.size(), 0u);
  EXPECT_FALSE(knows(0x40));
  hear(0x40);
  EXPECT_TRUE(knows(0x40));
}

}  // namespace
}  // namespace paravane::ipoib
