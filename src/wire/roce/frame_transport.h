// read_transport() reads the headers of a packet from the base header on, and finds its payload.
//
// A pure function; any thread. Nothing is allocated.

#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "wire/roce/frame.h"

namespace paravane::wire::roce {

// `transport`: from the base header to the CRC, which is not checked. Sets all of `frame` but what
// comes from the network headers. nullopt: it has done so.
std::optional<FrameFault> read_transport(std::span<const std::byte> transport, Frame& frame);

}  // namespace paravane::wire::roce
