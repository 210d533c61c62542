// Calculates the invariant CRC at the end of a RoCE packet (IBTA volume 1, 7.8.1; annexes A16.5 and
// A17.3). It covers all fields that switches and routers do not change on the way.
//
// A pure function; any thread.

#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "wire/roce/headers.h"

namespace paravane::wire::roce {

// `packet`: the bytes between the Ethernet header and the CRC. Returns the CRC as it follows them.
// REQUIRES: `packet` contains the network headers and the base header.
std::array<std::byte, kIcrcBytes> icrc_of(Network network, std::span<const std::byte> packet);

}  // namespace paravane::wire::roce
