// Packets that the ib_ipoib of Linux 6.1 sent, recorded between two of its ports that knew nothing
// of Paravane (tests/infiniband/test_foreign_peer.py), and what they become on Ethernet. The
// checksums are those of another program.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "ipoib/arp.h"
#include "ipoib/neighbour_discovery.h"
#include "ipoib/packet_test.h"
#include "ipoib/remote_mac.h"

namespace paravane::ipoib {
namespace {

using wire::infiniband::kReliableConnections;

// Its address says that it takes reliable connections, too.
constexpr std::string_view kLinuxGid = "fe800000000000000250560000f00201";
constexpr std::uint32_t kLinuxPair = 0x48;
constexpr std::uint16_t kLinuxLid = 2;
constexpr std::string_view kLinuxMac = "020000480002";

std::optional<MacBytes> mac_of_linux(const IpoibAddress& address) {
  if (address.gid != address_of<16>(kLinuxGid)) return std::nullopt;
  return remote_mac({.number = address.queue_pair(), .lid = kLinuxLid});
}

std::string discovered(std::string_view packet) {
  const auto out = discovery_to_ethernet(bytes_of(packet), mac_of_linux);
  EXPECT_TRUE(out.has_value());
  return out ? hex_of(*out) : "";
}

TEST(LinuxPackets, ARequestOfArp) {
  const auto arp = read_infiniband_arp(
      bytes_of("0020 0800 14 04 0001 80000048 fe80000000000000 0250560000f00201 c0000202"
               "00000000 0000000000000000 0000000000000000 c0000201"));
  ASSERT_TRUE(arp.has_value());
  EXPECT_EQ(arp->sender.flags, kReliableConnections);
  EXPECT_EQ(arp->sender.queue_pair(), kLinuxPair);
  EXPECT_EQ(arp->sender.gid, address_of<16>(kLinuxGid));
  EXPECT_EQ(hex_of(ethernet_arp(to_ethernet(*arp, mac_of_linux(arp->sender).value(), {}))),
            plain_hex("0001 0800 06 04 0001 020000480002 c0000202 000000000000 c0000201"));
}

TEST(LinuxPackets, AReplyOfArp) {
  const auto arp = read_infiniband_arp(
      bytes_of("0020 0800 14 04 0002 80000048 fe80000000000000 0250560000f00201 c0000202"
               "80000048 fe80000000000000 0250560000f00101 c0000201"));
  ASSERT_TRUE(arp.has_value());
  EXPECT_EQ(arp->operation, ArpOperation::kReply);
  EXPECT_EQ(arp->target.gid, address_of<16>("fe800000000000000250560000f00101"));
}

TEST(LinuxPackets, ASolicitationOfAnAddressAlreadyThere) {
  // It has a nonce (RFC 7527) and no link-layer address, so it stays as it is.
  constexpr std::string_view kPacket =
      "60000000 0020 3a ff 0000000000000000 0000000000000000 ff02000000000000 00000001fff00201"
      "87 00 03a4 00000000 fe80000000000000 0250560000f00201 0e 01 0eedb3464a14";
  EXPECT_EQ(discovery_kind(bytes_of(kPacket)), DiscoveryKind::kPlain);
  EXPECT_EQ(discovered(kPacket), plain_hex(kPacket));
}

TEST(LinuxPackets, ASolicitation) {
  EXPECT_EQ(
      discovered(
          "60000000 0030 3a ff fe80000000000000 0250560000f00201 20010db800000000 0000000000000001"
          "87 00 e850 00000000 20010db800000000 0000000000000001"
          "01 03 0000 80000048 fe80000000000000 0250560000f00201"),
      plain_hex(
          "60000000 0020 3a ff fe80000000000000 0250560000f00201 20010db800000000 0000000000000001"
          "87 00 c023 00000000 20010db800000000 0000000000000001 01 01") +
          std::string(kLinuxMac));
}

TEST(LinuxPackets, AnAdvertisement) {
  EXPECT_EQ(
      discovered(
          "60000000 0030 3a ff 20010db800000000 0000000000000002 20010db800000000 0000000000000001"
          "88 00 b256 60000000 20010db800000000 0000000000000002"
          "02 03 0000 80000048 fe80000000000000 0250560000f00201"),
      plain_hex(
          "60000000 0020 3a ff 20010db800000000 0000000000000002 20010db800000000 0000000000000001"
          "88 00 8a29 60000000 20010db800000000 0000000000000002 02 01") +
          std::string(kLinuxMac));
}

TEST(LinuxPackets, ASolicitationOfRouters) {
  EXPECT_EQ(
      discovered(
          "60000000 0020 3a ff fe80000000000000 0250560000f00201 ff02000000000000 0000000000000002"
          "85 00 46d0 00000000 01 03 0000 80000048 fe80000000000000 0250560000f00201"),
      plain_hex(
          "60000000 0010 3a ff fe80000000000000 0250560000f00201 ff02000000000000 0000000000000002"
          "85 00 1ea3 00000000 01 01") +
          std::string(kLinuxMac));
}

}  // namespace
}  // namespace paravane::ipoib
