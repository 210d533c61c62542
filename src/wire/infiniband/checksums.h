// Calculates the two checksums that end an InfiniBand packet on a wire: the invariant CRC (IBTA
// volume 1, 7.8.1), which covers what no switch changes, and the variant CRC (7.8.2) of all in
// front of it.
//
// Pure functions; any thread. Nothing that is in a packet has to be true.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace paravane::wire::infiniband {

inline constexpr std::size_t kVariantCrcBytes = 2;
// Both checksums: what follows a packet as datagram.h has it.
inline constexpr std::size_t kMostEndBytes = 6;

// Whether the packet has an invariant CRC: a raw packet has none. `packet`: from its local route
// header on.
bool has_invariant_crc(std::span<const std::byte> packet);
// Of all checksums that it has.
std::size_t end_bytes(std::span<const std::byte> packet);

// `packet`: from its local route header to its padding. Returns the CRC as it follows them. Of a
// packet that ends within its headers, no field is masked.
std::array<std::byte, 4> invariant_crc(std::span<const std::byte> packet);

// Calculates the variant CRC, piece by piece.
class VariantCrc {
 public:
  void add(std::span<const std::byte> piece);
  // As it follows the pieces.
  std::array<std::byte, kVariantCrcBytes> finish() const;

 private:
  std::uint16_t crc_ = 0xFFFF;
};

// What follows `packet`, from its local route header to its padding, on a wire: the invariant CRC,
// if it has one, and the variant CRC.
class PacketEnd {
 public:
  explicit PacketEnd(std::span<const std::byte> packet);
  std::span<const std::byte> bytes() const { return std::span(bytes_).first(size_); }

 private:
  std::array<std::byte, kMostEndBytes> bytes_{};
  std::size_t size_ = 0;
};

}  // namespace paravane::wire::infiniband
