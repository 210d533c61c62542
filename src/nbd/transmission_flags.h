// What a server says of a device: NBD's transmission flags and block sizes (proto.md, "Transmission
// flags" and "Block size constraints").
//
// Any thread.

#pragma once

#include <cstdint>

#include "nbd/block_device.h"
#include "nbd/protocol.h"

namespace paravane::nbd {

// `is_structured`: structured replies are agreed on. Never CAN_MULTI_CONN: a device has one client.
std::uint16_t transmission_flags(const Geometry& geometry, bool is_structured);

// The preferred size is a power of two, at least the least one, as the document demands.
BlockSizeInformation block_sizes(const Geometry& geometry);

}  // namespace paravane::nbd
