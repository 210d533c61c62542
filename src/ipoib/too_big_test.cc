#include "ipoib/too_big.h"

#include <gtest/gtest.h>

#include <string_view>

#include "ipoib/packet_test.h"

namespace paravane::ipoib {
namespace {

constexpr std::string_view kUdpDatagram = "1234 0035 05bc 0000";
constexpr std::uint16_t kMtu = 1500;
constexpr std::uint32_t kLongMtu = 2044;

Bytes big(std::string_view first, std::size_t zeros = 2060) {
  return joined(bytes_of(first), Bytes(zeros));
}

// ---- Bytes: RFC 792 with RFC 1191, 4; RFC 4443, 3.2. The checksums are another program's ----

TEST(TooBigTest, FragmentationNeededByteForByte) {
  const auto answer = fragmentation_needed(ipv4_packet({}, big(kUdpDatagram)), kMtu);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(hex_of(*answer), plain_hex("45 c0 0038 0000 4000 40 01 2603 0a000002 0a000001"
                                       "03 04 defa 0000 05dc"
                                       "45 00 0828 1c46 4000 40 11 027d 0a000001 0a000002"
                                       "1234 0035 05bc 0000"));
}

TEST(TooBigTest, PacketTooBigByteForByte) {
  const Bytes packet = ipv6_packet({.next_header = 17, .hop_limit = 64}, big(kUdpDatagram, 2000));
  const auto answer = packet_too_big(packet, kLongMtu);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->size(), 1280u);
  EXPECT_EQ(hex_of(std::span(*answer).first(48)),
            plain_hex("60000000 04d8 3a 40 fe80000000000000 0202c90300000048"
                      "fe80000000000000 025056fffe000001"
                      "02 00 2072 000007fc"));
  EXPECT_EQ(hex_of(std::span(*answer).subspan(48)), hex_of(std::span(packet).first(1232)));
}

TEST(TooBigTest, OptionsOfTheHeaderAreQuoted) {
  const Bytes packet = ipv4_packet({.options = "94040000"}, big(kUdpDatagram));
  const auto answer = fragmentation_needed(packet, kMtu);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(hex_of(std::span(*answer).subspan(28)), hex_of(std::span(packet).first(24 + 8)));
}

TEST(TooBigTest, TheAnswerIsReadAsAnAnswer) {
  const auto ipv4 = fragmentation_needed(ipv4_packet({}, big(kUdpDatagram)), kMtu);
  ASSERT_TRUE(ipv4.has_value());
  const auto read4 = read_ipv4(*ipv4);
  ASSERT_TRUE(read4.has_value());
  EXPECT_EQ(checksum_of(read4->payload), 0);
  const auto ipv6 = packet_too_big(ipv6_packet({.next_header = 17}, big(kUdpDatagram)), kLongMtu);
  ASSERT_TRUE(ipv6.has_value());
  const auto read6 = read_ipv6(*ipv6);
  ASSERT_TRUE(read6.has_value());
  EXPECT_EQ(icmpv6_checksum(read6->header.source, read6->header.destination, read6->payload), 0);
}

// ---- No answer ----

bool is_answered(const Ipv4Fields& fields, std::string_view first = kUdpDatagram) {
  return fragmentation_needed(ipv4_packet(fields, big(first)), kMtu).has_value();
}
bool is_answered(const Ipv6Fields& fields, std::string_view first = kUdpDatagram) {
  return packet_too_big(ipv6_packet(fields, big(first)), kLongMtu).has_value();
}

TEST(TooBigTest, APacketThatFitsIsNotAnswered) {
  const Bytes ipv4 = ipv4_packet({}, Bytes(1480));
  EXPECT_FALSE(fragmentation_needed(ipv4, 1500).has_value());
  EXPECT_TRUE(fragmentation_needed(ipv4, 1499).has_value());
  const Bytes ipv6 = ipv6_packet({.next_header = 17}, Bytes(1460));
  EXPECT_FALSE(packet_too_big(ipv6, 1500).has_value());
  EXPECT_TRUE(packet_too_big(ipv6, 1499).has_value());
  // Padding makes it no larger.
  EXPECT_FALSE(fragmentation_needed(joined(ipv4, Bytes(100)), 1500).has_value());
  EXPECT_FALSE(packet_too_big(joined(ipv6, Bytes(100)), 1500).has_value());
}

TEST(TooBigTest, AnMtuThatNoLinkMayHaveIsNotTold) {
  const Bytes ipv4 = ipv4_packet({}, big(kUdpDatagram));
  EXPECT_TRUE(fragmentation_needed(ipv4, 68).has_value());
  EXPECT_FALSE(fragmentation_needed(ipv4, 67).has_value());
  const Bytes ipv6 = ipv6_packet({.next_header = 17}, big(kUdpDatagram));
  EXPECT_TRUE(packet_too_big(ipv6, 1280).has_value());
  EXPECT_FALSE(packet_too_big(ipv6, 1279).has_value());
}

TEST(TooBigTest, APacketThatMayBeFragmentedIsNotAnswered) {
  EXPECT_FALSE(is_answered(Ipv4Fields{.flags_fragment = 0}));
  EXPECT_FALSE(is_answered(Ipv4Fields{.flags_fragment = 0x2000}));
}

TEST(TooBigTest, OfFragmentsTheFirstAloneIsAnswered) {
  EXPECT_TRUE(is_answered(Ipv4Fields{.flags_fragment = 0x6000}));
  EXPECT_FALSE(is_answered(Ipv4Fields{.flags_fragment = 0x6001}));
  EXPECT_TRUE(is_answered(Ipv6Fields{.next_header = 44}, "11 00 0001 12345678"));
  EXPECT_FALSE(is_answered(Ipv6Fields{.next_header = 44}, "11 00 0009 12345678"));
}

TEST(TooBigTest, AnErrorIsNotAnswered) {
  for (const std::string_view error : {"03040000", "04", "05", "0b", "0c"}) {
    EXPECT_FALSE(is_answered(Ipv4Fields{.protocol = 1}, error)) << error;
  }
  EXPECT_TRUE(is_answered(Ipv4Fields{.protocol = 1}, "08000000"));
  for (const std::string_view error : {"01", "02", "7f", "89"}) {
    EXPECT_FALSE(is_answered(Ipv6Fields{}, error)) << error;
  }
  EXPECT_TRUE(is_answered(Ipv6Fields{}, "80"));
  EXPECT_FALSE(is_answered(Ipv6Fields{.next_header = 60}, "3a 00 000000000000 01"));
  EXPECT_TRUE(is_answered(Ipv6Fields{.next_header = 60}, "3a 00 000000000000 80"));
}

TEST(TooBigTest, WhatMayBeAnErrorIsNotAnswered) {
  // Headers that end where the packet ends, or behind it.
  EXPECT_FALSE(
      packet_too_big(ipv6_packet({.next_header = 60}, joined(bytes_of("3a ff"), Bytes(2046))),
                     kLongMtu)
          .has_value());
  EXPECT_FALSE(
      packet_too_big(ipv6_packet({.next_header = 60}, joined(bytes_of("3a fe"), Bytes(2038))),
                     kLongMtu)
          .has_value());
}

TEST(TooBigTest, AnAddressThatIsNotOneNodesIsNotAnswered) {
  for (const std::string_view address :
       {"00000000", "7f000001", "e0000001", "f0000001", "ffffffff"}) {
    EXPECT_FALSE(is_answered(Ipv4Fields{.source = address})) << address;
    EXPECT_FALSE(is_answered(Ipv4Fields{.destination = address})) << address;
  }
  for (const std::string_view address :
       {"0000000000000000 0000000000000000", "0000000000000000 0000000000000001",
        "ff02000000000000 0000000000000001"}) {
    EXPECT_FALSE(is_answered(Ipv6Fields{.source = address, .next_header = 17})) << address;
    EXPECT_FALSE(is_answered(Ipv6Fields{.destination = address, .next_header = 17})) << address;
  }
}

TEST(TooBigTest, AMalformedPacketIsNotAnswered) {
  const Bytes ipv4 = ipv4_packet({}, big(kUdpDatagram));
  const Bytes ipv6 = ipv6_packet({.next_header = 17}, big(kUdpDatagram));
  EXPECT_FALSE(fragmentation_needed(ipv6, kMtu).has_value());
  EXPECT_FALSE(packet_too_big(ipv4, kLongMtu).has_value());
  EXPECT_FALSE(fragmentation_needed(std::span(ipv4).first(ipv4.size() - 1), kMtu).has_value());
  EXPECT_FALSE(packet_too_big(std::span(ipv6).first(ipv6.size() - 1), kLongMtu).has_value());
  Bytes damaged = ipv4;
  damaged[8] ^= std::byte{1};
  EXPECT_FALSE(fragmentation_needed(damaged, kMtu).has_value());
}

}  // namespace
}  // namespace paravane::ipoib
