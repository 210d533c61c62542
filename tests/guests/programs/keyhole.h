// What a trunk's end (trunk_prey.cc) and the thief at its other end (thief.cc) tell each other in
// each try. Plain values.

#pragma once

#include <array>
#include <cstdint>

namespace guest {

struct Seat {
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;
  std::array<std::uint8_t, 16> gid{};
  // Of the prey only: memory that is worth reading, and memory that would be written.
  std::uint64_t secret = 0;
  std::uint64_t target = 0;
};

// Of RoCE v2 over Ethernet frames of 1,500 bytes.
inline constexpr std::uint32_t kPathMtuBytes = 1024;

}  // namespace guest
