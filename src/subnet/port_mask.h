// PortMask: a set of ports of a switch.
//
// A plain value.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "subnet/port.h"

namespace paravane::subnet {

inline constexpr std::size_t kMostSwitchPorts = 128;
// Bit N is port N.
using PortMask = std::array<std::uint64_t, kMostSwitchPorts / 64>;

// REQUIRES of both: a port below kMostSwitchPorts.
constexpr bool has_port(const PortMask& mask, PortNumber port) {
  return (mask[port / 64U] >> (port % 64U) & 1) != 0;
}
constexpr void add_port(PortMask& mask, PortNumber port) {
  mask[port / 64U] |= std::uint64_t{1} << (port % 64U);
}

}  // namespace paravane::subnet
