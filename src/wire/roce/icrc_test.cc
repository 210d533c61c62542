// The invariant CRC, against packets whose CRC others have made.

#include "wire/roce/icrc.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace paravane::wire::roce {
namespace {

std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(
        static_cast<std::byte>(std::stoul(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

std::vector<std::byte> icrc(Network network, const std::vector<std::byte>& packet) {
  const auto crc = icrc_of(network, packet);
  return {crc.begin(), crc.end()};
}

// A congestion notification that a ConnectX-4 Lx sent (in Scapy's tests of RoCE).
constexpr std::string_view kOfConnectX =
    "45c2003c718c4000401191610a0011010a001201000012b7002800008100ffff400001180000000000000000"
    "000000000000000000000000";

TEST(IcrcTest, IsThatOfRealAdapters) {
  EXPECT_EQ(icrc(Network::kV2Ipv4, from_hex(kOfConnectX)), from_hex("82fd002a"));
  // A send with a pad count and a UDP checksum, from the same tests.
  EXPECT_EQ(icrc(Network::kV2Ipv4,
                 from_hex("45010040047840004011b4d5c0a80007c0a80007c00012b7002caca22460ffff000000"
                          "d300cf17104630818be28935d90e9a95505401be885e500000")),
            from_hex("78f353f3"));
}

TEST(IcrcTest, OfPiecesIsThatOfTheWhole) {
  const auto packet = from_hex(kOfConnectX);
  const std::span<const std::byte> whole(packet);
  constexpr std::size_t kHeaders = network_bytes(Network::kV2Ipv4) + sizeof(BaseHeader);
  for (std::size_t first = kHeaders; first <= whole.size(); ++first) {
    for (std::size_t second = first; second <= whole.size(); ++second) {
      IcrcBuilder builder(Network::kV2Ipv4, whole.first(first));
      builder.add(whole.subspan(first, second - first));
      builder.add(whole.subspan(second));
      EXPECT_EQ(builder.finish(), icrc_of(Network::kV2Ipv4, packet)) << first << ' ' << second;
    }
  }
}

TEST(IcrcTest, LeavesOutWhatRoutersChange) {
  for (const std::size_t changed : {1u, 8u, 10u, 11u, 26u, 27u, 32u}) {
    auto packet = from_hex(kOfConnectX);
    packet[changed] ^= std::byte{0x5A};
    EXPECT_EQ(icrc(Network::kV2Ipv4, packet), from_hex("82fd002a")) << changed;
  }
  for (const std::size_t changed : {0u, 2u, 9u, 12u, 19u, 20u, 28u, 31u, 33u, 39u, 55u}) {
    auto packet = from_hex(kOfConnectX);
    packet[changed] ^= std::byte{0x5A};
    EXPECT_NE(icrc(Network::kV2Ipv4, packet), from_hex("82fd002a")) << changed;
  }
}

TEST(IcrcTest, LeavesOutWhatRoutersChangeInLongHeaders) {
  for (const Network network : {Network::kV1, Network::kV2Ipv6}) {
    const std::size_t udp = network == Network::kV1 ? 0 : sizeof(UdpHeader);
    std::vector<std::byte> packet(sizeof(LongHeader) + udp + sizeof(BaseHeader) + 8);
    packet[0] = std::byte{0x60};
    const auto plain = icrc(network, packet);
    const auto of_changed = [&](std::size_t at, std::byte bits) {
      auto changed = packet;
      changed[at] ^= bits;
      return icrc(network, changed);
    };
    EXPECT_EQ(of_changed(0, std::byte{0x0F}), plain);
    EXPECT_NE(of_changed(0, std::byte{0x10}), plain);
    for (const std::size_t at : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7},
                                 sizeof(LongHeader) + udp + 4}) {
      EXPECT_EQ(of_changed(at, std::byte{0xFF}), plain) << at;
    }
    for (const std::size_t at : {std::size_t{4}, std::size_t{6}, std::size_t{8}, std::size_t{39},
                                 sizeof(LongHeader) + udp, packet.size() - 1}) {
      EXPECT_NE(of_changed(at, std::byte{0xFF}), plain) << at;
    }
  }
}

}  // namespace
}  // namespace paravane::wire::roce
