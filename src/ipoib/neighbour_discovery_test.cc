#include "ipoib/neighbour_discovery.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "ipoib/packet_test.h"

namespace paravane::ipoib {
namespace {

constexpr MacBytes kDiscoveryVm{0x02, 0x50, 0x56, 0, 0, 1};
constexpr MacBytes kDiscoveryNode{0x02, 0, 0, 0x48, 0, 7};
constexpr IpoibAddress kDiscoveryOwn{
    .flags = 0,
    .number = Be24(0x123),
    .gid = {0xFE, 0x80, 0, 0, 0, 0, 0, 0, 2, 0x50, 0x56, 0, 1, 0xA2, 0xB3, 1}};
constexpr IpoibAddress kDiscoveryRemote{
    .flags = 0,
    .number = Be24(0x48),
    .gid = {0xFE, 0x80, 0, 0, 0, 0, 0, 0, 2, 2, 0xC9, 3, 0, 0, 0, 0x48}};

// Two stations, on each link.
std::optional<IpoibAddress> address_of_mac(const MacBytes& mac) {
  if (mac == kDiscoveryVm) return kDiscoveryOwn;
  if (mac == kDiscoveryNode) return kDiscoveryRemote;
  return std::nullopt;
}
std::optional<MacBytes> mac_of_address(const IpoibAddress& address) {
  if (address == kDiscoveryOwn) return kDiscoveryVm;
  if (address == kDiscoveryRemote) return kDiscoveryNode;
  return std::nullopt;
}

constexpr std::string_view kVmOption = " 025056000001";
constexpr std::string_view kOwnOption = " 0000 00 000123 fe80000000000000 0250560001a2b301";

// A neighbour solicitation (4.3): type, code, checksum, reserved, target.
constexpr std::string_view kSolicitation = "87 00 0000 00000000 fe80000000000000 0202c90300000048";
constexpr std::string_view kSolicitedGroup = "ff02000000000000 00000001ff000048";

Bytes message_of(std::string_view message, std::string_view options = {}) {
  return joined(bytes_of(message), bytes_of(options));
}
Bytes solicitation_with(std::string_view options) {
  return icmpv6_packet({.destination = kSolicitedGroup}, message_of(kSolicitation, options));
}

std::string to_infiniband_hex(std::span<const std::byte> packet) {
  const auto out = discovery_to_infiniband(packet, address_of_mac);
  EXPECT_TRUE(out.has_value());
  return out ? hex_of(*out) : "";
}
std::string to_ethernet_hex(std::span<const std::byte> packet) {
  const auto out = discovery_to_ethernet(packet, mac_of_address);
  EXPECT_TRUE(out.has_value());
  return out ? hex_of(*out) : "";
}

// Of the translation from Ethernet.
DiscoveryRefusal discovery_refusal(std::span<const std::byte> packet) {
  const auto out = discovery_to_infiniband(packet, address_of_mac);
  EXPECT_FALSE(out.has_value());
  return out ? DiscoveryRefusal{0xFF} : out.error();
}

// ---- Bytes: RFC 4861, 4; RFC 2464, 6; RFC 4391, 9.3. The checksums are another program's ----

constexpr std::string_view kEthernetSolicitation =
    "60000000 0020 3a ff fe80000000000000 025056fffe000001 ff02000000000000 00000001ff000048"
    "87 00 0165 00000000 fe80000000000000 0202c90300000048"
    "01 01 025056000001";
constexpr std::string_view kInfinibandSolicitation =
    "60000000 0030 3a ff fe80000000000000 025056fffe000001 ff02000000000000 00000001ff000048"
    "87 00 4d0c 00000000 fe80000000000000 0202c90300000048"
    "01 03 0000 00 000123 fe80000000000000 0250560001a2b301";
constexpr std::string_view kInfinibandAdvertisement =
    "60000000 0030 3a ff fe80000000000000 0202c90300000048 fe80000000000000 025056fffe000001"
    "88 00 620b 60000000 fe80000000000000 0202c90300000048"
    "02 03 0000 00 000048 fe80000000000000 0202c90300000048";
constexpr std::string_view kEthernetAdvertisement =
    "60000000 0020 3a ff fe80000000000000 0202c90300000048 fe80000000000000 025056fffe000001"
    "88 00 29e5 60000000 fe80000000000000 0202c90300000048"
    "02 01 020000480007";

TEST(NeighbourDiscoveryTest, ASolicitationGoesToInfinibandByteForByte) {
  EXPECT_EQ(to_infiniband_hex(bytes_of(kEthernetSolicitation)), plain_hex(kInfinibandSolicitation));
}

TEST(NeighbourDiscoveryTest, AnAdvertisementComesFromInfinibandByteForByte) {
  EXPECT_EQ(to_ethernet_hex(bytes_of(kInfinibandAdvertisement)), plain_hex(kEthernetAdvertisement));
}

TEST(NeighbourDiscoveryTest, TheOtherWayByteForByte) {
  EXPECT_EQ(to_ethernet_hex(bytes_of(kInfinibandSolicitation)), plain_hex(kEthernetSolicitation));
  EXPECT_EQ(to_infiniband_hex(bytes_of(kEthernetAdvertisement)),
            plain_hex(kInfinibandAdvertisement));
}

// ---- There and back ----

TEST(NeighbourDiscoveryTest, EachMessageComesBackTheSame) {
  constexpr std::string_view kTargets =
      "fe80000000000000 0202c90300000048 20010db800000000 0000000000000001";
  const std::string redirect = "89 00 0000 00000000" + std::string(kTargets);
  for (const std::string& message :
       {std::string("85 00 0000 00000000"),                      // router solicitation
        std::string("86 00 0000 40 80 0708 00000000 00000000"),  // router advertisement
        std::string(kSolicitation),                              //
        std::string("88 00 0000 60000000 20010db8000000000000000000000001"), redirect}) {
    for (const std::string_view options :
         {"", "01 01 025056000001", "02 01 020000480007", "01 01 025056000001 02 01 020000480007",
          // A prefix, the MTU, a redirected packet that looks like an address, and one not known.
          "03 04 4080 00278d00 00093a80 00000000 20010db8000000000000000000000000"
          "01 01 025056000001 05 01 0000 000007fc 04 02 000000000000 0101020000480007"
          "fd 02 0102030405060708090a0b0c0d0e"}) {
      const Bytes packet = icmpv6_packet({}, message_of(message, options));
      ASSERT_EQ(discovery_kind(packet), DiscoveryKind::kPlain);
      const auto there = discovery_to_infiniband(packet, address_of_mac);
      ASSERT_TRUE(there.has_value()) << message << options;
      EXPECT_EQ(discovery_kind(*there), DiscoveryKind::kPlain);
      EXPECT_EQ(to_ethernet_hex(*there), hex_of(packet)) << message << options;
    }
  }
}

TEST(NeighbourDiscoveryTest, OtherOptionsStayAndAddressesChange) {
  const Bytes packet =
      solicitation_with("05 01 0000 000007fc 01 01 025056000001 0e 01 010203040506");
  const std::string expected = plain_hex(
      "05 01 0000 000007fc"
      "01 03 0000 00 000123 fe80000000000000 0250560001a2b301"
      "0e 01 010203040506");
  EXPECT_TRUE(to_infiniband_hex(packet).ends_with(expected));
}

TEST(NeighbourDiscoveryTest, PaddingOfAFrameIsLeftOut) {
  Bytes padded = bytes_of(kEthernetSolicitation);
  padded.resize(padded.size() + 9, std::byte{0x77});
  EXPECT_EQ(to_infiniband_hex(padded), plain_hex(kInfinibandSolicitation));
}

// ---- What is discovery ----

TEST(NeighbourDiscoveryTest, OtherPacketsNeedNoTranslation) {
  EXPECT_EQ(discovery_kind(ipv6_packet({.next_header = 17}, bytes_of("87000000"))),
            DiscoveryKind::kNone);
  for (const std::uint8_t type :
       std::initializer_list<std::uint8_t>{1, 128, 129, 130, 132, 138, 143}) {
    Bytes message = message_of(kSolicitation);
    message[0] = std::byte{type};
    EXPECT_EQ(discovery_kind(icmpv6_packet({}, message)), DiscoveryKind::kNone) << int{type};
    EXPECT_EQ(discovery_refusal(icmpv6_packet({}, message)), DiscoveryRefusal::kNotPlain);
  }
  // Multicast listener discovery has a header before it.
  EXPECT_EQ(discovery_kind(
                ipv6_packet({.next_header = 0}, bytes_of("3a 00 05020000 0100 8f00000000000000"))),
            DiscoveryKind::kNone);
  // A later fragment of any packet.
  EXPECT_EQ(
      discovery_kind(ipv6_packet({.next_header = 44}, bytes_of("3a 00 0008 12345678 87000000"))),
      DiscoveryKind::kNone);
}

TEST(NeighbourDiscoveryTest, ItIsNotPassedOnBehindOtherHeaders) {
  for (const auto& [next_header, before] :
       {std::pair(0, "3a 00 000000000000"), std::pair(60, "3a 00 000000000000"),
        std::pair(43, "3a 00 000000000000"), std::pair(60, "00 00 000000000000 3a 00 000000000000"),
        std::pair(44, "3a 00 0000 12345678")}) {
    const Bytes packet = ipv6_packet({.next_header = static_cast<std::uint8_t>(next_header)},
                                     message_of(before, kSolicitation));
    EXPECT_EQ(discovery_kind(packet), DiscoveryKind::kHidden) << next_header;
    EXPECT_EQ(discovery_refusal(packet), DiscoveryRefusal::kNotPlain);
  }
}

TEST(NeighbourDiscoveryTest, ItIsNotPassedOnInAFragment) {
  // The first of several; the last begins behind the message's header, or behind what is before it.
  EXPECT_EQ(discovery_kind(
                ipv6_packet({.next_header = 44}, message_of("3a 00 0001 12345678", kSolicitation))),
            DiscoveryKind::kHidden);
  EXPECT_EQ(discovery_kind(ipv6_packet({.next_header = 44},
                                       bytes_of("3c 00 0001 12345678 3a 00 000000000000"))),
            DiscoveryKind::kHidden);
  EXPECT_EQ(discovery_kind(ipv6_packet({.next_header = 44},
                                       bytes_of("3c 00 0001 12345678 3a 01 000000000000"))),
            DiscoveryKind::kHidden);
}

TEST(NeighbourDiscoveryTest, WhatCannotBeReadIsNotPassedOn) {
  const Bytes whole = bytes_of(kEthernetSolicitation);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(discovery_kind(cut), DiscoveryKind::kHidden) << size;
    EXPECT_EQ(discovery_refusal(cut), DiscoveryRefusal::kNotPlain) << size;
  }
}

// ---- What is refused ----

TEST(NeighbourDiscoveryTest, APacketThatARouterHasPassedOnIsRefused) {
  for (const std::uint8_t hops : std::initializer_list<std::uint8_t>{254, 64, 0}) {
    EXPECT_EQ(discovery_refusal(icmpv6_packet({.hop_limit = hops}, message_of(kSolicitation))),
              DiscoveryRefusal::kHopLimit);
  }
}

TEST(NeighbourDiscoveryTest, AWrongChecksumIsRefused) {
  const Bytes good = bytes_of(kEthernetSolicitation);
  // Each byte but the payload length and the IPv6 header's others, which the sum has not.
  for (std::size_t at = 8; at < good.size(); ++at) {
    if (at >= 40 && at < 42) continue;  // type and code are refused as such
    Bytes bad = good;
    bad[at] ^= std::byte{0x40};
    EXPECT_EQ(discovery_refusal(bad), DiscoveryRefusal::kChecksum) << at;
  }
}

TEST(NeighbourDiscoveryTest, AnotherCodeIsRefused) {
  Bytes message = message_of(kSolicitation);
  message[1] = std::byte{1};
  EXPECT_EQ(discovery_refusal(icmpv6_packet({}, message)), DiscoveryRefusal::kCode);
}

TEST(NeighbourDiscoveryTest, AMessageThatEndsBeforeItsOptionsIsRefused) {
  for (const auto& [type, least] : {std::pair(0x85, 8), std::pair(0x86, 16), std::pair(0x87, 24),
                                    std::pair(0x88, 24), std::pair(0x89, 40)}) {
    Bytes message(static_cast<std::size_t>(least));
    message[0] = static_cast<std::byte>(type);
    EXPECT_TRUE(discovery_to_infiniband(icmpv6_packet({}, message), address_of_mac).has_value());
    message.pop_back();
    EXPECT_EQ(discovery_refusal(icmpv6_packet({}, message)), DiscoveryRefusal::kShort);
    EXPECT_EQ(discovery_refusal(icmpv6_packet({}, Bytes(message.begin(), message.begin() + 4))),
              DiscoveryRefusal::kShort);
  }
}

TEST(NeighbourDiscoveryTest, OptionsThatDoNotEndWithThePacketAreRefused) {
  for (const std::string_view options :
       {"05", "05 00", "05 00 000000000000", "00 00 000000000000", "05 02 000000000000",
        "05 ff 000000000000", "01 01 025056000001 05", "01 01 0250560000",
        "05 01 000000000000 05 02 000000000000"}) {
    EXPECT_EQ(discovery_refusal(solicitation_with(options)), DiscoveryRefusal::kOption) << options;
  }
}

TEST(NeighbourDiscoveryTest, AnAddressOfTheOtherLinkIsRefused) {
  EXPECT_EQ(discovery_refusal(bytes_of(kInfinibandSolicitation)), DiscoveryRefusal::kOption);
  const auto out = discovery_to_ethernet(bytes_of(kEthernetSolicitation), mac_of_address);
  ASSERT_FALSE(out.has_value());
  EXPECT_EQ(out.error(), DiscoveryRefusal::kOption);
  // Two and four units are of no link.
  EXPECT_EQ(discovery_refusal(solicitation_with("01 02 025056000001 0000000000000000")),
            DiscoveryRefusal::kOption);
}

TEST(NeighbourDiscoveryTest, AnAddressThatIsNotKnownIsRefused) {
  EXPECT_EQ(discovery_refusal(solicitation_with("01 01 025056000002")), DiscoveryRefusal::kUnknown);
  const auto out = discovery_to_ethernet(
      solicitation_with("01 03 0000 00 000124 fe80000000000000 0250560001a2b301"), mac_of_address);
  ASSERT_FALSE(out.has_value());
  EXPECT_EQ(out.error(), DiscoveryRefusal::kUnknown);
}

TEST(NeighbourDiscoveryTest, LinkAddressesAreBounded) {
  std::string options;
  for (std::size_t i = 0; i < kMostLinkAddresses; ++i) options += "01 01" + std::string(kVmOption);
  const auto most = discovery_to_infiniband(solicitation_with(options), address_of_mac);
  ASSERT_TRUE(most.has_value());
  EXPECT_EQ(most->size(), 40 + 24 + 24 * kMostLinkAddresses);
  options += "02 01" + std::string(kVmOption);
  std::size_t asked = 0;
  const auto out = discovery_to_infiniband(solicitation_with(options), [&](const MacBytes& mac) {
    ++asked;
    return address_of_mac(mac);
  });
  ASSERT_FALSE(out.has_value());
  EXPECT_EQ(out.error(), DiscoveryRefusal::kTooMany);
  EXPECT_EQ(asked, kMostLinkAddresses);
}

TEST(NeighbourDiscoveryTest, APacketThatWouldBeTooLongIsRefused) {
  const auto with_options = [](std::size_t units, std::string_view last) {
    std::string options;
    for (std::size_t i = 0; i < units; ++i) options += "05 01 000000000000";
    return solicitation_with(options + std::string(last));
  };
  const std::string vm = "01 01" + std::string(kVmOption);
  // 4092 is not a multiple of 8: 4088 is the longest.
  constexpr std::size_t kMostUnits = (4088 - 40 - 24 - 24) / 8;
  const auto longest = discovery_to_infiniband(with_options(kMostUnits, vm), address_of_mac);
  ASSERT_TRUE(longest.has_value());
  EXPECT_EQ(longest->size(), 4088u);
  EXPECT_EQ(discovery_refusal(with_options(kMostUnits + 1, vm)), DiscoveryRefusal::kLong);
  // On the way back it gets shorter.
  const std::string own = "01 03" + std::string(kOwnOption);
  EXPECT_TRUE(discovery_to_ethernet(with_options(kMostUnits + 2, own), mac_of_address).has_value());
  EXPECT_FALSE(
      discovery_to_ethernet(with_options(kMostUnits + 3, own), mac_of_address).has_value());
}

}  // namespace
}  // namespace paravane::ipoib
