// The invariant CRC at the end of a RoCE packet (IBTA volume 1, 7.8.1; annexes A16.5 and A17.3).
// It covers every field that no switch or router changes on the way.
//
// Pure; any thread.

#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "wire/roce/headers.h"

namespace paravane::wire::roce {

enum class Network : std::uint8_t { kV1, kV2Ipv4, kV2Ipv6 };

// Of what lies between the Ethernet header and the CRC itself, which follows as these
// bytes. REQUIRES: the headers of the network and the base header are there.
std::array<std::byte, kIcrcBytes> icrc_of(Network network, std::span<const std::byte> packet);

}  // namespace paravane::wire::roce
