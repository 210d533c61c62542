#include "ipoib/claimed_addresses.h"

#include <gtest/gtest.h>

#include "ipoib/arp.h"
#include "ipoib/checksum.h"
#include "ipoib/frame.h"
#include "ipoib/neighbour_discovery.h"

namespace paravane::ipoib {
namespace {

using wire::infiniband::Ipv4Address;
using wire::infiniband::Ipv6Address;

constexpr MacBytes kVmMac{0x00, 0x16, 0x3E, 0, 0, 1};
constexpr Ipv6Address kIp6{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7};

TEST(NewestAddressesTest, KeepsTheNewestEachOnce) {
  NewestAddresses<Ipv4Address> addresses;
  addresses.add({});
  EXPECT_TRUE(addresses.all().empty());
  for (std::uint8_t i = 1; i <= 9; ++i) addresses.add({10, 0, 0, i});
  addresses.add({10, 0, 0, 5});
  addresses.add({10, 0, 0, 5});
  const std::vector<Ipv4Address> all(addresses.all().begin(), addresses.all().end());
  const std::vector<Ipv4Address> wanted{{10, 0, 0, 5}, {10, 0, 0, 9}, {10, 0, 0, 8}, {10, 0, 0, 7},
                                        {10, 0, 0, 6}, {10, 0, 0, 4}, {10, 0, 0, 3}, {10, 0, 0, 2}};
  EXPECT_EQ(all, wanted);
}

// RFC 5227, 3: sender and target are the address itself.
TEST(ClaimFrameTest, IsAnArpAnnouncement) {
  const auto bytes = claim_frame(kVmMac, Ipv4Address{10, 0, 0, 1});
  const auto frame = read_frame(bytes);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->source, kVmMac);
  EXPECT_EQ(frame->destination, (MacBytes{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}));
  const auto arp = read_ethernet_arp(frame->payload);
  ASSERT_TRUE(arp);
  EXPECT_EQ(*arp, (EthernetArp{.operation = ArpOperation::kRequest,
                               .sender = kVmMac,
                               .sender_ipv4 = {10, 0, 0, 1},
                               .target_ipv4 = {10, 0, 0, 1}}));
}

// What a node accepts: discovery_to_infiniband() checks all of it (RFC 4861, 7.1.2).
TEST(ClaimFrameTest, IsAnUnsolicitedNeighbourAdvertisement) {
  const auto bytes = claim_frame(kVmMac, kIp6);
  const auto frame = read_frame(bytes);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->destination, (MacBytes{0x33, 0x33, 0, 0, 0, 1}));
  EXPECT_EQ(discovery_kind(frame->payload), DiscoveryKind::kPlain);
  std::vector<MacBytes> asked;
  const auto translated = discovery_to_infiniband(frame->payload, [&asked](const MacBytes& mac) {
    asked.push_back(mac);
    return std::optional(IpoibAddress{});
  });
  EXPECT_TRUE(translated);
  EXPECT_EQ(asked, std::vector{kVmMac});
  EXPECT_EQ(std::to_integer<int>(frame->payload[44]), 0x20) << "override alone";
  EXPECT_EQ(claimed_by_discovery(frame->payload), kIp6);
}

TEST(ClaimedByDiscoveryTest, IsTheSourceOfWhatIsNoAdvertisement) {
  auto bytes = claim_frame(kVmMac, kIp6);
  auto packet = std::span(bytes).subspan(14);
  packet[40] = std::byte{135};  // a solicitation
  packet[23] = std::byte{9};    // of another source
  Ipv6Address source = kIp6;
  source[15] = 9;
  EXPECT_EQ(claimed_by_discovery(packet), source);
  for (std::size_t i = 8; i < 24; ++i) packet[i] = std::byte{0};  // that has no address yet
  EXPECT_EQ(claimed_by_discovery(packet), std::nullopt);
}

TEST(ClaimedByDiscoveryTest, ReadsNothingBeyondThePacket) {
  const auto bytes = claim_frame(kVmMac, kIp6);
  const auto packet = std::span(bytes).subspan(14);
  for (std::size_t size = 0; size < packet.size(); ++size) {
    EXPECT_EQ(claimed_by_discovery(packet.first(size)), std::nullopt) << size;
  }
  auto group = claim_frame(kVmMac, kIp6);
  group[14 + 48] = std::byte{0xFF};  // the target
  EXPECT_EQ(claimed_by_discovery(std::span(group).subspan(14)), std::nullopt);
}

}  // namespace
}  // namespace paravane::ipoib
