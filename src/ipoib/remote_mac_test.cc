#include "ipoib/remote_mac.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>

namespace paravane::ipoib {
namespace {

TEST(RemoteMacTest, NumberAndLidInTheirPlaces) {
  const RemoteQueuePair remote{.number = 0x12'3456, .lid = 0x789A};
  const MacBytes mac{0x02, 0x12, 0x34, 0x56, 0x78, 0x9A};
  EXPECT_EQ(remote_mac(remote), mac);
  EXPECT_EQ(remote_queue_pair(mac), remote);
}

TEST(RemoteMacTest, WhatHasAMacIsFoundByIt) {
  for (const std::uint32_t number : {2U, 0x48U, 0x50'55FFU, 0x50'5700U, 0xFF'FFFEU}) {
    for (const std::uint16_t lid : std::initializer_list<std::uint16_t>{1, 0x1234, 0xBFFF}) {
      const RemoteQueuePair remote{.number = number, .lid = lid};
      const auto mac = remote_mac(remote);
      ASSERT_TRUE(mac.has_value());
      EXPECT_EQ((*mac)[0] & 3, 2);  // locally administered, no group
      EXPECT_EQ(remote_queue_pair(*mac), remote);
    }
  }
}

TEST(RemoteMacTest, QueuePairsOfManagementAndGroupsHaveNone) {
  for (const std::uint32_t number : {0U, 1U, 0xFF'FFFFU, 0x100'0000U}) {
    EXPECT_EQ(remote_mac({.number = number, .lid = 1}), std::nullopt) << number;
  }
  for (const std::uint16_t lid : std::initializer_list<std::uint16_t>{0, 0xC000, 0xFFFE, 0xFFFF}) {
    EXPECT_EQ(remote_mac({.number = 2, .lid = lid}), std::nullopt) << lid;
  }
}

TEST(RemoteMacTest, NoNumberHasAMacThatTheDaemonGivesVms) {
  EXPECT_EQ(remote_mac({.number = 0x50'5600, .lid = 1}), std::nullopt);
  EXPECT_EQ(remote_mac({.number = 0x50'56FF, .lid = 0xBFFF}), std::nullopt);
  EXPECT_EQ(remote_queue_pair({0x02, 0x50, 0x56, 0x01, 0x02, 0x03}), std::nullopt);
}

TEST(RemoteMacTest, OtherMacsAreOfNoQueuePair) {
  EXPECT_EQ(remote_queue_pair({0x00, 0, 0, 0x48, 0, 7}), std::nullopt);
  EXPECT_EQ(remote_queue_pair({0x03, 0, 0, 0x48, 0, 7}), std::nullopt);
  EXPECT_EQ(remote_queue_pair({0x06, 0, 0, 0x48, 0, 7}), std::nullopt);
  EXPECT_EQ(remote_queue_pair({0x02, 0, 0, 0x01, 0, 7}), std::nullopt);
  EXPECT_EQ(remote_queue_pair({0x02, 0, 0, 0x48, 0, 0}), std::nullopt);
  EXPECT_EQ(remote_queue_pair({0x02, 0, 0, 0x48, 0xC0, 0}), std::nullopt);
  EXPECT_EQ(remote_queue_pair({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}), std::nullopt);
}

}  // namespace
}  // namespace paravane::ipoib
