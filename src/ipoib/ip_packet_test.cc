#include "ipoib/ip_packet.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "ipoib/checksum.h"
#include "ipoib/packet_test.h"

namespace paravane::ipoib {
namespace {

// An UpperLayer whose payload is a copy.
struct ReadLayer {
  std::uint8_t protocol = 0;
  bool is_first = false;
  std::string payload{};
};
std::expected<ReadLayer, NoUpperLayer> upper_layer(std::uint8_t next_header, std::string_view hex) {
  const Bytes bytes = ipv6_packet({.next_header = next_header}, bytes_of(hex));
  const auto packet = read_ipv6(bytes);
  EXPECT_TRUE(packet.has_value());
  const auto layer = upper_layer_of(*packet);
  if (!layer) return std::unexpected(layer.error());
  return ReadLayer{
      .protocol = layer->protocol, .is_first = layer->is_first, .payload = hex_of(layer->payload)};
}

// ---- Checksums ----

TEST(IpChecksumTest, TheExampleOfRfc1071) {
  // The sum there is 0xDDF2.
  EXPECT_EQ(checksum_of(bytes_of("0001 f203 f4f5 f6f7")), 0xFFFF ^ 0xDDF2);
}

TEST(IpChecksumTest, AnOddByteIsTheHigherHalfOfAWord) {
  EXPECT_EQ(checksum_of(bytes_of("0001 f2")), checksum_of(bytes_of("0001 f200")));
}

TEST(IpChecksumTest, AHeaderWithItsChecksumSumsUpToNothing) {
  EXPECT_EQ(checksum_of(bytes_of("4500003c 1c464000 4006b1e6 ac100a63 ac100a0c")), 0);
}

// ---- IPv4 ----

TEST(IpPacketTest, Ipv4WithOptionsAndPadding) {
  const Bytes whole = ipv4_packet({.options = "94040000"}, bytes_of("aabb"));
  Bytes padded = whole;
  padded.resize(46);
  const auto packet = read_ipv4(padded);
  ASSERT_TRUE(packet.has_value());
  EXPECT_EQ(packet->header_bytes(), 24u);
  EXPECT_EQ(hex_of(packet->payload), "aabb");
  EXPECT_EQ(hex_of(packet->bytes), hex_of(whole));
}

TEST(IpPacketTest, Ipv4Fragments) {
  const auto read = [](std::uint16_t flags) {
    Ipv4Packet packet;
    packet.header.flags_fragment.set(flags);
    return packet;
  };
  EXPECT_FALSE(read(0x4000).may_be_fragmented());
  EXPECT_TRUE(read(0x0000).may_be_fragmented());
  EXPECT_FALSE(read(0x2000).is_later_fragment());
  EXPECT_TRUE(read(0x2001).is_later_fragment());
  EXPECT_TRUE(read(0x1000).is_later_fragment());
}

TEST(IpPacketTest, Ipv4ThatIsMalformedIsRefused) {
  const Bytes whole = ipv4_packet({}, bytes_of("aabb"));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(read_ipv4(std::span(whole).first(size)).has_value()) << size;
  const auto with = [](std::size_t at, std::uint8_t value) {
    Bytes bytes = ipv4_packet({}, bytes_of("aabb"));
    bytes[at] = std::byte{value};
    wire::roce::Ipv4Header header;
    std::memcpy(&header, bytes.data(), sizeof header);
    header.checksum.set(0);
    header.checksum.set(wire::roce::checksum_of(header));
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
  };
  EXPECT_TRUE(read_ipv4(with(0, 0x45)).has_value());
  EXPECT_FALSE(read_ipv4(with(0, 0x65)).has_value());  // version
  EXPECT_FALSE(read_ipv4(with(0, 0x44)).has_value());  // a header of 16 bytes
  EXPECT_FALSE(read_ipv4(with(0, 0x46)).has_value());  // longer than the packet
  EXPECT_FALSE(read_ipv4(with(3, 19)).has_value());    // shorter than its header
  EXPECT_FALSE(read_ipv4(with(3, 23)).has_value());    // longer than it is
}

// ---- IPv6 ----

TEST(IpPacketTest, Ipv6WithPadding) {
  Bytes bytes = ipv6_packet({.next_header = 17}, bytes_of("aabb"));
  bytes.resize(50);
  const auto packet = read_ipv6(bytes);
  ASSERT_TRUE(packet.has_value());
  EXPECT_EQ(hex_of(packet->payload), "aabb");
  EXPECT_EQ(packet->bytes.size(), 42u);
}

TEST(IpPacketTest, Ipv6ThatIsMalformedIsRefused) {
  Bytes bytes = ipv6_packet({}, bytes_of("aabb"));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(read_ipv6(std::span(bytes).first(size)).has_value()) << size;
  bytes[0] = std::byte{0x40};
  EXPECT_FALSE(read_ipv6(bytes).has_value());
  EXPECT_FALSE(read_ipv6(ipv6_packet({}, {})).has_value());
}

TEST(IpPacketTest, UpperLayerDirectlyBehindTheHeader) {
  const auto layer = upper_layer(17, "aabb");
  ASSERT_TRUE(layer.has_value());
  EXPECT_EQ(layer->protocol, 17);
  EXPECT_TRUE(layer->is_first);
  EXPECT_EQ(layer->payload, "aabb");
}

TEST(IpPacketTest, UpperLayerBehindExtensionHeaders) {
  // Hop-by-hop, 16 bytes; destination options, 8; authentication, 24; a first fragment; UDP.
  const auto layer = upper_layer(
      0,
      "3c 01 0000000000000000000000000000  33 00 000000000000"
      "2c 04 0000 00000000 00000000 0000000000000000 00000000  11 00 0001 12345678 aabb");
  ASSERT_TRUE(layer.has_value());
  EXPECT_EQ(layer->protocol, 17);
  EXPECT_FALSE(layer->is_first);
  EXPECT_EQ(layer->payload, "aabb");
  for (const std::uint8_t header : std::initializer_list<std::uint8_t>{43, 135, 139, 140}) {
    const auto behind = upper_layer(header, "3a 00 000000000000 87");
    ASSERT_TRUE(behind.has_value());
    EXPECT_EQ(behind->protocol, 58);
    EXPECT_FALSE(behind->is_first);
  }
}

TEST(IpPacketTest, ALaterFragmentHasNoUpperLayer) {
  const auto layer = upper_layer(44, "3a 00 0008 12345678 87000000");
  ASSERT_FALSE(layer.has_value());
  EXPECT_EQ(layer.error(), NoUpperLayer::kLaterFragment);
}

TEST(IpPacketTest, HeadersThatGoOnBehindTheEndAreRefused) {
  for (const std::string_view text : {"3a", "3a 00 0000000000", "3a 01 000000000000",
                                      "3a ff 000000000000 aabb", "3c 00 000000000000 3a 00 0000"}) {
    const auto layer = upper_layer(60, text);
    ASSERT_FALSE(layer.has_value()) << text;
    EXPECT_EQ(layer.error(), NoUpperLayer::kShort) << text;
  }
}

}  // namespace
}  // namespace paravane::ipoib
