// The input of ipoib_frames_fuzz: a byte of flags, two bytes of an MTU, and the packet: an Ethernet
// frame, or an InfiniBand datagram's payload, which begins with its encapsulation header.

#pragma once

#include <cstdint>

namespace paravane::fake {

inline constexpr std::uint8_t kFromInfiniband = 1;
// Lengths of IP are those of what is there, and its checksums are right, so that what is behind
// them is reached.
inline constexpr std::uint8_t kMendsLengths = 2;
inline constexpr std::uint8_t kMendsChecksums = 4;

}  // namespace paravane::fake
