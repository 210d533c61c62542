// Whole packets, byte for byte, against ones that a program of its own put together from
// the specification (with another implementation of the CRC).

#include "wire/roce/packet.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace paravane::wire::roce {
namespace {

constexpr GidBytes kFrom{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0x50, 0x54, 0, 0xFF, 0xFE, 0x77, 0, 1};
constexpr GidBytes kTo{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0x50, 0x54, 0, 0xFF, 0xFE, 0x77, 0, 2};
constexpr GidBytes kFromIpv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 77, 0, 1};
constexpr GidBytes kToIpv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 77, 0, 2};

Route route_of(Network network) {
  const bool is_ipv4 = network == Network::kV2Ipv4;
  return {.network = network,
          .source_mac = {0x52, 0x54, 0, 0x77, 0, 1},
          .destination_mac = {0x52, 0x54, 0, 0x77, 0, 2},
          .source = is_ipv4 ? kFromIpv4 : kFrom,
          .destination = is_ipv4 ? kToIpv4 : kTo,
          .flow_label = 0x12345,
          .traffic_class = 0x20,
          .hop_limit = 9,
          .udp_source_port = 0xC123};
}

std::string bytes_of(Packet packet, std::string_view payload) {
  packet.payload_bytes = static_cast<std::uint32_t>(payload.size());
  std::vector<std::byte> bytes(packet_bytes(packet) + kMostHeaderBytes);
  const std::size_t headers = write_headers(packet, bytes);
  std::ranges::copy(std::as_bytes(std::span(payload)),
                    bytes.begin() + static_cast<std::ptrdiff_t>(headers));
  bytes.resize(packet_bytes(packet));
  write_end(packet, bytes);
  std::string hex;
  for (const std::byte byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return hex;
}

TEST(PacketTest, WriteWithImmediateOverV1) {
  EXPECT_EQ(
      bytes_of({.route = route_of(Network::kV1),
                .opcode = Opcode::kWriteOnlyImm,
                .solicited = true,
                .wants_ack = true,
                .destination_qp = 0x123456,
                .psn = 0xABCDEF,
                .address = 0x7F00'0000'1000,
                .rkey = 0x99AABBCC,
                .length = 5,
                .immediate = {std::byte{0xDE}, std::byte{0xAD}, std::byte{0xBE}, std::byte{0xEF}}},
               "hello"),
      "525400770002525400770001891562012345002c1b09fe80000000000000505400fffe770001fe80000000"
      "000000505400fffe7700020bf0ffff0012345680abcdef00007f000000100099aabbcc00000005deadbeef"
      "68656c6c6f000000c78c3efc");
}

TEST(PacketTest, DatagramOverIpv6) {
  EXPECT_EQ(bytes_of({.route = route_of(Network::kV2Ipv6),
                      .opcode = Opcode::kDatagramOnly,
                      .destination_qp = 1,
                      .psn = 7,
                      .qkey = 0x80010000,
                      .source_qp = 1},
                     "ping"),
            "52540077000252540077000186dd6201234500241109fe80000000000000505400fffe770001fe80000000"
            "000000505400fffe770002c12312b7002400006440ffff0000000100000007800100000000000170696e67"
            "0a941bd1");
}

TEST(PacketTest, AtomicOverIpv4) {
  EXPECT_EQ(
      bytes_of({.route = route_of(Network::kV2Ipv4),
                .opcode = Opcode::kCompareSwap,
                .wants_ack = true,
                .destination_qp = 0x11,
                .psn = 0xFFFFFF,
                .address = 0x1000,
                .rkey = 5,
                .swap_or_add = 0x1122334455667788,
                .compare = 3},
               ""),
      "5254007700025254007700010800452000480000400009115ce90a4d00010a4d0002c12312b70034000013"
      "40ffff0000001180ffffff00000000000010000000000511223344556677880000000000000003662beb4f");
}

// The one of icrc_test.cc.
TEST(PacketTest, CongestionNotificationIsThatOfAnAdapter) {
  Route route = route_of(Network::kV2Ipv4);
  route.source = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 17, 1};
  route.destination = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 18, 1};
  route.traffic_class = 0xC2;
  route.hop_limit = 0x40;
  route.udp_source_port = 0;
  EXPECT_EQ(bytes_of({.route = route,
                      .opcode = Opcode::kCongestionNotification,
                      .migrated = false,
                      .becn = true,
                      .identification = 0x718C,
                      .destination_qp = 0x118},
                     ""),
            "525400770002525400770001080045c2003c718c4000401191610a0011010a001201000012b70028000081"
            "00ffff40000118000000000000000000000000000000000000000082fd002a");
}

TEST(PacketTest, OfEveryKindHasTheLengthThatItsHeadersSay) {
  for (const Network network : {Network::kV1, Network::kV2Ipv4, Network::kV2Ipv6}) {
    for (int code = 0; code < 256; ++code) {
      for (const std::uint32_t payload : {0u, 1u, 2u, 3u, 4u, 4096u}) {
        const Packet packet{.route = route_of(network),
                            .opcode = static_cast<Opcode>(code),
                            .payload_bytes = payload};
        std::vector<std::byte> out(kMostHeaderBytes);
        const std::size_t headers = write_headers(packet, out);
        EXPECT_EQ(packet_bytes(packet), headers + (payload + 3) / 4 * 4 + kIcrcBytes);
      }
    }
  }
}

TEST(PacketTest, SourcePortIsThatOfLinux) {
  EXPECT_EQ(udp_source_port(0, 0, 0), 0xC000);
  EXPECT_EQ(udp_source_port(0x12345, 1, 2), 0xC000 | (0x2345 ^ 0x4));
  EXPECT_EQ(udp_source_port(0, 0x11, 0x12), 0xC132);
  EXPECT_EQ(udp_source_port(0, 0x800, 0x900), udp_source_port(0, 0x900, 0x800));
}

}  // namespace
}  // namespace paravane::wire::roce
