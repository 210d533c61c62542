#include "ipoib/broadcast_group.h"

#include <gtest/gtest.h>

#include "wire/infiniband/ip_over_infiniband.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::ipoib {
namespace {

using wire::infiniband::Mtu;
using wire::infiniband::MulticastMember;

constexpr std::uint16_t kKeyOfGroup = 0x8005;
constexpr std::size_t kMostOfLink = 4096;

MulticastMember good_member() {
  MulticastMember member;
  member.group = wire::infiniband::broadcast_gid(kKeyOfGroup);
  member.qkey.set(0x7FFF'FFFF);
  member.lid.set(0xC000);
  member.mtu = 0x80 | static_cast<std::uint8_t>(Mtu::k2048);
  member.rate = 0x80 | 7;
  member.traffic_class = 0x28;
  member.level_flow_hop.set(0x5ABC'DE07);
  return member;
}

TEST(BroadcastGroup, HasWhatAdministrationSays) {
  const auto group = read_broadcast_group(good_member(), 0x0005, kMostOfLink);
  ASSERT_TRUE(group);
  EXPECT_EQ(*group, (BroadcastGroup{.gid = wire::infiniband::broadcast_gid(kKeyOfGroup),
                                    .lid = 0xC000,
                                    .partition = 0x0005,
                                    .qkey = 0x7FFF'FFFF,
                                    .level = 5,
                                    .traffic_class = 0x28,
                                    .flow_label = 0xABCDE,
                                    .hop_limit = 7,
                                    .mtu = 2044,
                                    .mtu_code = 4,
                                    .rate_code = 7}));
}

TEST(BroadcastGroup, AGroupOfIpIsLikeIt) {
  const auto broadcast = read_broadcast_group(good_member(), kKeyOfGroup, kMostOfLink);
  ASSERT_TRUE(broadcast);
  MulticastMember member = good_member();
  member.group[15] = 1;
  member.lid.set(0xC123);
  const auto group = read_group_like(member, *broadcast);
  ASSERT_TRUE(group);
  EXPECT_EQ(group->gid, member.group);
  EXPECT_EQ(group->lid, 0xC123);
  EXPECT_EQ(group->partition, kKeyOfGroup);
  for (const auto spoil : {+[](MulticastMember& one) { one.qkey.set(7); },
                           +[](MulticastMember& one) { one.lid.set(7); },
                           +[](MulticastMember& one) { one.mtu = 0x85; }}) {
    MulticastMember bad = member;
    spoil(bad);
    EXPECT_FALSE(read_group_like(bad, *broadcast));
  }
}

TEST(BroadcastGroup, HasAMulticastLid) {
  MulticastMember member = good_member();
  for (const unsigned lid : {0x0000u, 0x0001u, 0xBFFFu, 0xFFFFu}) {
    member.lid.set(static_cast<std::uint16_t>(lid));
    EXPECT_EQ(read_broadcast_group(member, kKeyOfGroup, kMostOfLink),
              std::unexpected(BadGroup::kLid))
        << lid;
  }
  member.lid.set(0xFFFE);
  EXPECT_TRUE(read_broadcast_group(member, kKeyOfGroup, kMostOfLink));
}

TEST(BroadcastGroup, HasNoControlledQkey) {
  MulticastMember member = good_member();
  // With that of queue pair 1, packets of VMs would reach the agents of every node.
  for (const std::uint32_t qkey : {wire::infiniband::kServiceQkey, 0x8000'0000U, 0xFFFF'FFFFU}) {
    member.qkey.set(qkey);
    EXPECT_EQ(read_broadcast_group(member, kKeyOfGroup, kMostOfLink),
              std::unexpected(BadGroup::kQkey));
  }
}

TEST(BroadcastGroup, HasAnMtuOfAnIpNetworkWithinTheLinks) {
  MulticastMember member = good_member();
  for (unsigned mtu = 0; mtu < 64; ++mtu) {
    member.mtu = static_cast<std::uint8_t>(0x80 | mtu);
    const bool is_good = mtu == 4 || mtu == 5;
    EXPECT_EQ(read_broadcast_group(member, kKeyOfGroup, kMostOfLink).has_value(), is_good) << mtu;
  }
  member.mtu = static_cast<std::uint8_t>(Mtu::k4096);
  EXPECT_EQ(read_broadcast_group(member, kKeyOfGroup, 4096)->mtu, 4092u);
  EXPECT_EQ(read_broadcast_group(member, kKeyOfGroup, 2048), std::unexpected(BadGroup::kMtu));
  member.mtu = static_cast<std::uint8_t>(Mtu::k2048);
  EXPECT_TRUE(read_broadcast_group(member, kKeyOfGroup, 2048));
}

TEST(BroadcastGroup, WhatIsBadIsSaidInWords) {
  EXPECT_EQ(words_of(BadGroup::kLid), "its broadcast group has no multicast LID");
  EXPECT_EQ(words_of(BadGroup::kQkey), "its broadcast group has a controlled Q_Key");
  EXPECT_EQ(words_of(BadGroup::kMtu),
            "its broadcast group has an MTU other than 2048 and 4096, or above this port's");
}

}  // namespace
}  // namespace paravane::ipoib
