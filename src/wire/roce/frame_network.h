// open_envelope() takes the Ethernet and network headers off a frame (frame.h) and checks them.
//
// Pure functions; any thread. Nothing is allocated.

#pragma once

#include <cstdint>
#include <expected>
#include <span>

#include "wire/roce/frame.h"

namespace paravane::wire::roce {

// What is around the transport headers of a packet. The spans point into the frame.
struct Envelope {
  Route route;
  std::uint16_t identification = 0;  // IPv4
  bool may_be_fragmented = false;    // IPv4
  // As received, network_bytes() long.
  std::span<const std::byte> network;
  // From the base header to the CRC; what follows `network`. Of a superframe, several packets' one
  // behind the other.
  std::span<const std::byte> transport;
};

std::expected<Envelope, FrameFault> open_envelope(std::span<const std::byte> frame);

}  // namespace paravane::wire::roce
