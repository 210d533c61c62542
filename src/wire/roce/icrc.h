// Calculates the invariant CRC at the end of a RoCE packet (IBTA volume 1, 7.8.1; annexes A16.5 and
// A17.3). It covers all fields that switches and routers do not change on the way.
//
// IcrcBuilder covers a packet piece by piece, for payload that lies in several places; icrc_of()
// covers one that lies in one place.
//
// Plain values and pure functions; any thread. Nothing is allocated, and no span is kept.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/roce/headers.h"

namespace paravane::wire::roce {

class IcrcBuilder {
 public:
  // `start`: the packet from the network header on. Fields that may change on the way are masked in
  // the network headers and the base header; what follows them counts as it is. REQUIRES: `start`
  // contains these headers.
  IcrcBuilder(Network network, std::span<const std::byte> start);

  // The next bytes of the packet. All bytes in front of the CRC count, with the padding.
  void add(std::span<const std::byte> piece);

  // The CRC as it follows the bytes.
  std::array<std::byte, kIcrcBytes> finish() const;

 private:
  std::uint32_t crc_ = 0;
};

// `packet`: the bytes between the Ethernet header and the CRC. Returns the CRC as it follows them.
// REQUIRES: `packet` contains the network headers and the base header.
std::array<std::byte, kIcrcBytes> icrc_of(Network network, std::span<const std::byte> packet);

}  // namespace paravane::wire::roce
