#include "wire/infiniband/ip_over_infiniband.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>

namespace paravane::wire::infiniband {
namespace {

constexpr Gid kPortGid{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xC9, 3, 0, 0, 0, 0x48};

// ---- Groups: the figures of RFC 4391, 4, and the examples of RFC 4391, 4 and RFC 4392, 5 ----

TEST(IpOverInfinibandTest, BroadcastGroup) {
  EXPECT_EQ(broadcast_gid(kDefaultPartition),
            (Gid{0xFF, 0x12, 0x40, 0x1B, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF}));
  EXPECT_EQ(broadcast_gid(0x8012, 5),
            (Gid{0xFF, 0x15, 0x40, 0x1B, 0x80, 0x12, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF}));
}

TEST(IpOverInfinibandTest, AGroupHasTheFullMembersKey) {
  EXPECT_EQ(broadcast_gid(0x0012), broadcast_gid(0x8012));
  const Ipv4Address all{224, 0, 0, 1};
  EXPECT_EQ(multicast_gid_of(all, 0x0012), multicast_gid_of(all, 0x8012));
  EXPECT_EQ(multicast_gid_of(all, 0x0012)[4], 0x80);
}

TEST(IpOverInfinibandTest, Ipv4GroupsHave28Bits) {
  EXPECT_EQ(multicast_gid_of(Ipv4Address{224, 0, 0, 1}, kDefaultPartition),
            (Gid{0xFF, 0x12, 0x40, 0x1B, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(multicast_gid_of(Ipv4Address{239, 255, 255, 250}, 0x8001),
            (Gid{0xFF, 0x12, 0x40, 0x1B, 0x80, 1, 0, 0, 0, 0, 0, 0, 0x0F, 0xFF, 0xFF, 0xFA}));
}

TEST(IpOverInfinibandTest, Ipv6GroupsHave80Bits) {
  const Ipv6Address all{0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  EXPECT_EQ(multicast_gid_of(all, kDefaultPartition),
            (Gid{0xFF, 0x12, 0x60, 0x1B, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
  const Ipv6Address other{0xFF, 0x35, 0xA, 0xB, 0xC, 0xD, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_EQ(multicast_gid_of(other, 0x8001, 5),
            (Gid{0xFF, 0x15, 0x60, 0x1B, 0x80, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

TEST(IpOverInfinibandTest, WhichAddressesAreGroups) {
  EXPECT_TRUE(is_group(Ipv4Address{224, 0, 0, 0}) && is_group(Ipv4Address{239, 255, 255, 255}));
  EXPECT_FALSE(is_group(Ipv4Address{223, 255, 255, 255}) || is_group(Ipv4Address{240, 0, 0, 0}) ||
               is_group(Ipv4Address{255, 255, 255, 255}));
  EXPECT_TRUE(is_group(Ipv6Address{0xFF}));
  EXPECT_FALSE(is_group(Ipv6Address{0xFE, 0x80}));
}

// ---- Addresses ----

TEST(IpOverInfinibandTest, LinkLayerAddressByteForByte) {
  const IpoibAddress address{
      .flags = kReliableConnections, .number = Be24(0xAB'CDEF), .gid = kPortGid};
  using Raw = std::array<std::uint8_t, 20>;
  EXPECT_EQ(std::bit_cast<Raw>(address), (Raw{0x80, 0xAB, 0xCD, 0xEF, 0xFE, 0x80, 0, 0, 0, 0,
                                              0,    0,    0,    2,    0xC9, 3,    0, 0, 0, 0x48}));
  EXPECT_EQ(address.queue_pair(), 0xAB'CDEFu);
}

TEST(IpOverInfinibandTest, WhichAddressesCanBeAnInterfaces) {
  const auto address = [](std::uint32_t number, Gid gid) {
    return IpoibAddress{.number = Be24(number), .gid = gid};
  };
  EXPECT_TRUE(is_of_interface(address(2, kPortGid)));
  EXPECT_TRUE(is_of_interface(address(0xFF'FFFE, kPortGid)));
  EXPECT_FALSE(is_of_interface(address(0, kPortGid)));
  EXPECT_FALSE(is_of_interface(address(1, kPortGid)));
  EXPECT_FALSE(is_of_interface(address(kMulticastQueuePair, kPortGid)));
  EXPECT_FALSE(is_of_interface(address(2, Gid{})));
  EXPECT_FALSE(is_of_interface(address(2, broadcast_gid(kDefaultPartition))));
}

// ---- Packets ----

TEST(IpOverInfinibandTest, EncapsulationByteForByte) {
  using Raw = std::array<std::uint8_t, 4>;
  EXPECT_EQ(std::bit_cast<Raw>(EncapsulationHeader{.type = Be16(kEtherTypeArp), .reserved = {}}),
            (Raw{8, 6, 0, 0}));
  EXPECT_EQ(kMostIpBytes, 4092u);
}

}  // namespace
}  // namespace paravane::wire::infiniband
