#include "wire/roce/icrc.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <bit>
#include <cassert>

#include "base/wire_int.h"

namespace paravane::wire::roce {
namespace {

// What InfiniBand has in front of the network header and Ethernet has not: counts as ones.
constexpr std::size_t kLocalHeaderBytes = 8;
constexpr std::size_t kMostMaskedBytes =
    kLocalHeaderBytes + sizeof(LongHeader) + sizeof(UdpHeader) + sizeof(BaseHeader);

}  // namespace

IcrcBuilder::IcrcBuilder(Network network, std::span<const std::byte> start) {
  const std::size_t ip = network == Network::kV2Ipv4 ? sizeof(Ipv4Header) : sizeof(LongHeader);
  const std::size_t udp = network == Network::kV1 ? 0 : sizeof(UdpHeader);
  const std::size_t headers = ip + udp + sizeof(BaseHeader);
  assert(start.size() >= headers);

  std::array<std::byte, kMostMaskedBytes> masked{};
  const auto copy = std::span(masked).subspan(kLocalHeaderBytes, headers);
  std::ranges::copy(start.first(headers), copy.begin());
  const auto mask = [](std::span<std::byte> field) { std::ranges::fill(field, std::byte{0xFF}); };
  mask(std::span(masked).first(kLocalHeaderBytes));
  if (network == Network::kV2Ipv4) {
    mask(copy.subspan(offsetof(Ipv4Header, type_of_service), 1));
    mask(copy.subspan(offsetof(Ipv4Header, time_to_live), 1));
    mask(copy.subspan(offsetof(Ipv4Header, checksum), 2));
  } else {
    copy[0] |= std::byte{0x0F};  // traffic class and flow label
    mask(copy.subspan(1, 3));
    mask(copy.subspan(offsetof(LongHeader, hop_limit), 1));
  }
  if (udp > 0) mask(copy.subspan(ip + offsetof(UdpHeader, checksum), 2));
  mask(copy.subspan(ip + udp + offsetof(BaseHeader, reserved), 1));

  add(std::span(masked).first(kLocalHeaderBytes + headers));
  add(start.subspan(headers));
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
