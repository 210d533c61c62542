#include "ipoib/group_mac.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace paravane::ipoib {
namespace {

using wire::infiniband::Ipv4Address;
using wire::infiniband::Ipv6Address;

// A packet with this destination, whose other fields are 0.
std::vector<std::byte> packet_to(const Ipv4Address& address) {
  std::vector<std::byte> packet(20);
  packet[0] = std::byte{0x45};
  for (std::size_t i = 0; i < address.size(); ++i) packet[16 + i] = std::byte{address[i]};
  return packet;
}
std::vector<std::byte> packet_to(const Ipv6Address& address) {
  std::vector<std::byte> packet(40);
  packet[0] = std::byte{0x60};
  for (std::size_t i = 0; i < address.size(); ++i) packet[24 + i] = std::byte{address[i]};
  return packet;
}

TEST(GroupMac, AStationsIsNoGroupsAndNotZero) {
  constexpr MacBytes kStation{0x02, 0, 0, 0, 0, 1};
  constexpr MacBytes kGroup{0x01, 0x00, 0x5E, 0, 0, 1};
  EXPECT_TRUE(is_station_mac(kStation));
  EXPECT_FALSE(is_group_mac(kStation));
  EXPECT_TRUE(is_group_mac(kGroup));
  EXPECT_FALSE(is_station_mac(kGroup));
  EXPECT_TRUE(is_group_mac(kBroadcastMac));
  EXPECT_FALSE(is_station_mac(kBroadcastMac));
  EXPECT_FALSE(is_group_mac({}));
  EXPECT_FALSE(is_station_mac({}));
}

TEST(GroupMac, OfIpv4HasTheLowest23Bits) {
  EXPECT_EQ(mac_of_group(Ipv4Address{239, 0xFF, 2, 3}), (MacBytes{0x01, 0x00, 0x5E, 0x7F, 2, 3}));
  EXPECT_EQ(mac_of_group(Ipv4Address{224, 0x80, 0, 1}), (MacBytes{0x01, 0x00, 0x5E, 0, 0, 1}));
}

TEST(GroupMac, OfIpv6HasTheLowest32Bits) {
  EXPECT_EQ(mac_of_group(kAllNodes), (MacBytes{0x33, 0x33, 0, 0, 0, 1}));
  EXPECT_EQ(mac_of_group(Ipv6Address{0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF, 0x34, 0x56, 7}),
            (MacBytes{0x33, 0x33, 0xFF, 0x34, 0x56, 7}));
}

TEST(GroupMac, APacketsIsThatOfItsGroup) {
  EXPECT_EQ(group_mac_of(packet_to(kAllHosts)), mac_of_group(kAllHosts));
  EXPECT_EQ(group_mac_of(packet_to(kAllNodes)), mac_of_group(kAllNodes));
}

TEST(GroupMac, WhatIsForOneNodeOrIsCutGoesToAll) {
  EXPECT_EQ(group_mac_of(packet_to(Ipv4Address{10, 0, 0, 1})), kBroadcastMac);
  EXPECT_EQ(group_mac_of(packet_to(Ipv6Address{0xFE, 0x80})), kBroadcastMac);
  EXPECT_EQ(group_mac_of({}), kBroadcastMac);
  std::vector<std::byte> cut = packet_to(kAllHosts);
  cut.pop_back();
  EXPECT_EQ(group_mac_of(cut), kBroadcastMac);
  cut = packet_to(kAllNodes);
  cut.pop_back();
  EXPECT_EQ(group_mac_of(cut), kBroadcastMac);
}

}  // namespace
}  // namespace paravane::ipoib
