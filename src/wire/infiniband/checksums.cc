#include "wire/infiniband/checksums.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/wire_int.h"
#include "wire/infiniband/datagram.h"
#include "wire/infiniband/local_route.h"
#include "wire/roce/header_at.h"
#include "wire/roce/headers.h"
#include "wire/roce/icrc.h"

namespace paravane::wire::infiniband {
namespace {

using roce::BaseHeader;

static_assert(kMostEndBytes == kInvariantCrcBytes + kVariantCrcBytes);

// 0x100B with its bits in the order in which a wire carries them.
constexpr std::uint16_t kVariantPolynomial = 0xD008;

// What a byte makes of a variant CRC.
constexpr auto kVariantTable = [] {
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < table.size(); ++byte) {
    unsigned crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kVariantPolynomial : 0U);
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}();

NextHeader next_of(std::span<const std::byte> packet) {
  if (packet.size() < sizeof(LocalRouteHeader)) return NextHeader::kRaw;
  return roce::header_at<LocalRouteHeader>(packet).next();
}

std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> bytes) {
  return crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

}  // namespace

bool has_invariant_crc(std::span<const std::byte> packet) {
  const NextHeader next = next_of(packet);
  return next == NextHeader::kTransport || next == NextHeader::kGlobalRoute;
}

std::size_t end_bytes(std::span<const std::byte> packet) {
  return has_invariant_crc(packet) ? kMostEndBytes : kVariantCrcBytes;
}

std::array<std::byte, kInvariantCrcBytes> invariant_crc(std::span<const std::byte> packet) {
  constexpr std::size_t kLocal = sizeof(LocalRouteHeader);
  // A router makes the local route header anew, so none of it counts.
  if (next_of(packet) == NextHeader::kGlobalRoute &&
      packet.size() >= kLocal + kGlobalRouteBytes + sizeof(BaseHeader))
    return roce::icrc_of(roce::Network::kV1, packet.subspan(kLocal));

  std::array<std::byte, kLocal + sizeof(BaseHeader)> start{};
  const std::size_t size = std::min(packet.size(), start.size());
  std::copy_n(packet.begin(), size, start.begin());
  if (size == start.size()) {
    start[offsetof(LocalRouteHeader, lane_version)] |= std::byte{0xF0};
    start[kLocal + offsetof(BaseHeader, reserved)] = std::byte{0xFF};
  }
  const std::uint32_t crc = crc32(crc32(0, std::span(start).first(size)), packet.subspan(size));
  return std::bit_cast<std::array<std::byte, kInvariantCrcBytes>>(Le32(crc));
}

void VariantCrc::add(std::span<const std::byte> piece) {
  for (const std::byte byte : piece) {
    const unsigned index = (crc_ ^ static_cast<unsigned>(byte)) & 0xFF;
    crc_ = static_cast<std::uint16_t>((crc_ >> 8) ^ kVariantTable[index]);
  }
}

std::array<std::byte, kVariantCrcBytes> VariantCrc::finish() const {
  return std::bit_cast<std::array<std::byte, kVariantCrcBytes>>(
      Le16(static_cast<std::uint16_t>(~crc_)));
}

PacketEnd::PacketEnd(std::span<const std::byte> packet) {
  const auto append = [this](const auto& crc) {
    std::ranges::copy(crc, bytes_.begin() + static_cast<std::ptrdiff_t>(size_));
    size_ += crc.size();
  };
  if (has_invariant_crc(packet)) append(invariant_crc(packet));
  VariantCrc crc;
  crc.add(packet);
  crc.add(bytes());
  append(crc.finish());
}

}  // namespace paravane::wire::infiniband
