#include "ipoib/group_query.h"

#include <gtest/gtest.h>

#include "ipoib/group_report.h"
#include "ipoib/packet_test.h"

namespace paravane::ipoib {
namespace {

// The names of RFC 4391, 4, of RFC 3376's and RFC 3810's packets.

TEST(GroupName, NamesAGroupInAPartition) {
  const auto gid = [](const IpGroup& group, std::uint16_t partition) {
    const auto bytes = gid_of(name_of(group), partition);
    return hex_of(std::as_bytes(std::span(bytes)));
  };
  EXPECT_EQ(gid(kAllHosts, 0xFFFF), plain_hex("ff12 401b ffff 0000 0000 0000 0000 0001"));
  EXPECT_EQ(gid(wire::infiniband::Ipv4Address{239, 1, 2, 3}, 0x000A),
            plain_hex("ff12 401b 800a 0000 0000 0000 0f01 0203"));
  EXPECT_EQ(gid(kAllNodes, 0x800A), plain_hex("ff12 601b 800a 0000 0000 0000 0000 0001"));
  const auto solicited = address_of<16>("ff02 0000 0000 0000 0000 0001 ff34 5678");
  EXPECT_EQ(gid(solicited, 0x800A), plain_hex("ff12 601b 800a 0000 0000 0001 ff34 5678"));
}

TEST(GroupName, IsReadFromAGid) {
  const GroupName name = name_of(kAllHosts);
  auto gid = gid_of(name, 0x800A);
  EXPECT_EQ(name_in(gid, 0x000A), name);
  EXPECT_EQ(name_in(gid, 0x800B), std::nullopt);
  for (const std::size_t byte : {0u, 1u, 2u, 3u, 4u}) {
    auto other = gid;
    other[byte] ^= 1;
    EXPECT_EQ(name_in(other, 0x800A), std::nullopt) << byte;
  }
}

TEST(GroupName, OfAPacketIsTheGroupThatItIsFor) {
  EXPECT_EQ(group_of(ipv4_packet({.destination = "efffffff"}, {})),
            IpGroup(wire::infiniband::Ipv4Address{239, 255, 255, 255}));
  EXPECT_EQ(group_of(ipv6_packet({.destination = "ff020000000000000000000000000001"}, {})),
            IpGroup(kAllNodes));
  EXPECT_EQ(group_of(ipv4_packet({.destination = "ffffffff"}, {})), std::nullopt);
  EXPECT_EQ(group_of(ipv4_packet({}, {})), std::nullopt);
  EXPECT_EQ(group_of(ipv6_packet({}, {})), std::nullopt);
  EXPECT_EQ(group_of({}), std::nullopt);
  const Bytes cut4(19, std::byte{0x4F});
  const Bytes cut6(39, std::byte{0x6F});
  EXPECT_EQ(group_of(cut4), std::nullopt);
  EXPECT_EQ(group_of(cut6), std::nullopt);
}

TEST(GroupName, ThoseOfAddressesAskForANode) {
  const auto asks = [](const std::array<std::uint8_t, 16>& group) {
    return asks_for_a_node(name_of(wire::infiniband::Ipv6Address(group)));
  };
  EXPECT_TRUE(asks({0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF, 1, 2, 3}));
  EXPECT_FALSE(asks({0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xFE, 1, 2, 3}));
  EXPECT_FALSE(asks({0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0xFF, 1, 2, 3}));
  EXPECT_FALSE(asks_for_a_node(name_of(wire::infiniband::Ipv4Address{239, 0xFF, 0, 1})));
}

TEST(GroupName, OfTheLinkAre224_0_0) {
  EXPECT_TRUE(is_of_link(wire::infiniband::Ipv4Address{224, 0, 0, 251}));
  EXPECT_FALSE(is_of_link(wire::infiniband::Ipv4Address{224, 0, 1, 1}));
  EXPECT_FALSE(is_of_link(wire::infiniband::Ipv4Address{239, 0, 0, 1}));
  EXPECT_FALSE(is_of_link(kAllNodes));
}

TEST(GroupQuery, AsksForAllGroupsOfIgmp) {
  EXPECT_EQ(hex_of(igmp_query(std::nullopt)),
            plain_hex("46c00024 00000000 0102 4413 00000000 e0000001 94040000"
                      "1164 ec1e 00000000 027d 0000"));
}

TEST(GroupQuery, AsksForOneGroupOfIgmp) {
  const auto query = igmp_query(wire::infiniband::Ipv4Address{239, 1, 2, 3});
  EXPECT_EQ(hex_of(std::span(query).subspan(16, 4)), "ef010203");
  EXPECT_EQ(hex_of(std::span(query).subspan(25, 1)), "0a");
  EXPECT_EQ(hex_of(std::span(query).subspan(28, 4)), "ef010203");
  EXPECT_EQ(checksum_of(std::span(query).first(24)), 0);
  EXPECT_EQ(checksum_of(std::span(query).subspan(24)), 0);
}

TEST(GroupQuery, AsksForAllGroupsOfMld) {
  const auto query = mld_query(address_of<16>(kVmIpv6), std::nullopt);
  EXPECT_EQ(hex_of(query).substr(0, 100),
            plain_hex("60000000 0024 00 01 fe80000000000000 025056fffe000001"
                      "ff020000000000000000000000000001 3a00050200000100 8200"));
  EXPECT_EQ(hex_of(std::span(query).subspan(52)),
            plain_hex("2710 0000 00000000000000000000000000000000 027d 0000"));
  EXPECT_EQ(read_mld(query).kind, GroupMessage::Kind::kQuery) << "with a right checksum";
}

TEST(GroupQuery, AsksForOneGroupOfMld) {
  const auto group = address_of<16>("ff02 0000 0000 0000 0000 0001 ff34 5678");
  const auto query = mld_query(address_of<16>(kVmIpv6), group);
  EXPECT_EQ(hex_of(std::span(query).subspan(24, 16)), "ff0200000000000000000001ff345678");
  EXPECT_EQ(hex_of(std::span(query).subspan(52, 20)), "03e80000ff0200000000000000000001ff345678");
  EXPECT_EQ(read_mld(query).kind, GroupMessage::Kind::kNone);
}

}  // namespace
}  // namespace paravane::ipoib
