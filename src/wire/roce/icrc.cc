#include "wire/roce/icrc.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstring>

#include "base/wire_int.h"

namespace paravane::wire::roce {
namespace {

// What InfiniBand has in front of the network header and Ethernet has not: counts as ones.
constexpr std::size_t kLocalHeaderBytes = 8;

constexpr std::size_t ip_bytes(Network network) {
  return network == Network::kV2Ipv4 ? sizeof(Ipv4Header) : sizeof(LongHeader);
}
constexpr std::size_t masked_bytes(Network network) {
  return network_bytes(network) + sizeof(BaseHeader);
}

// The bits of the network headers and the base header that count as ones.
template <Network network>
constexpr auto kMask = [] {
  std::array<std::byte, masked_bytes(network)> mask{};
  const auto set = [&mask](std::size_t at, std::size_t bytes) {
    for (std::size_t i = at; i < at + bytes; ++i) mask[i] = std::byte{0xFF};
  };
  constexpr std::size_t kIp = ip_bytes(network);
  if constexpr (network == Network::kV2Ipv4) {
    set(offsetof(Ipv4Header, type_of_service), 1);
    set(offsetof(Ipv4Header, time_to_live), 1);
    set(offsetof(Ipv4Header, checksum), 2);
  } else {
    mask[0] = std::byte{0x0F};  // traffic class and flow label
    set(1, 3);
    set(offsetof(LongHeader, hop_limit), 1);
  }
  if constexpr (network != Network::kV1) set(kIp + offsetof(UdpHeader, checksum), 2);
  set(network_bytes(network) + offsetof(BaseHeader, reserved), 1);
  return mask;
}();

// The CRC of what IcrcBuilder masks. The sizes are constants, so that a compiler makes a few wide
// instructions of it.
template <Network network>
std::uint32_t crc_of_headers(std::span<const std::byte> start) {
  constexpr std::size_t kBytes = masked_bytes(network);
  assert(start.size() >= kBytes);
  std::array<std::byte, kLocalHeaderBytes + kBytes> masked;
  std::fill_n(masked.begin(), kLocalHeaderBytes, std::byte{0xFF});
  std::memcpy(masked.data() + kLocalHeaderBytes, start.data(), kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) {
    masked[kLocalHeaderBytes + i] |= kMask<network>[i];
  }
  const auto* data = reinterpret_cast<const unsigned char*>(masked.data());
  return crc32_gzip_refl(0, data, masked.size());
}

std::uint32_t crc_of_headers(Network network, std::span<const std::byte> start) {
  switch (network) {
    case Network::kV1: return crc_of_headers<Network::kV1>(start);
    case Network::kV2Ipv4: return crc_of_headers<Network::kV2Ipv4>(start);
    case Network::kV2Ipv6: break;
  }
  return crc_of_headers<Network::kV2Ipv6>(start);
}

}  // namespace

IcrcBuilder::IcrcBuilder(Network network, std::span<const std::byte> start)
    : crc_(crc_of_headers(network, start)) {
  add(start.subspan(masked_bytes(network)));
}

void IcrcBuilder::add(std::span<const std::byte> piece) {
  const auto* data = reinterpret_cast<const unsigned char*>(piece.data());
  crc_ = crc32_gzip_refl(crc_, data, piece.size());
}

std::array<std::byte, kIcrcBytes> IcrcBuilder::finish() const {
  return std::bit_cast<std::array<std::byte, kIcrcBytes>>(Le32(crc_));
}

std::array<std::byte, kIcrcBytes> icrc_of(Network network, std::span<const std::byte> packet) {
  return IcrcBuilder(network, packet).finish();
}

}  // namespace paravane::wire::roce
