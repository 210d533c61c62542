// The layout of a queue pair's rings in its pages: one header page with both pairs of indices, the
// send ring's pages, the receive ring's pages. The guest supplies the numbers; everything here is
// checked against them in 64 bits.

#pragma once

#include <bit>
#include <cstdint>

#include "abi/commands.h"
#include "base/result.h"
#include "device/device_config.h"
#include "guestmem/ring_consumer.h"

namespace paravane::device {

constexpr std::uint32_t send_stride(std::uint32_t sges) {
  return std::bit_ceil(80 + 16 * sges);
}
constexpr std::uint32_t receive_stride(std::uint32_t sges) {
  return std::bit_ceil(16 + 16 * sges);
}

// Pages that `elements` of `stride` bytes fill.
constexpr std::uint64_t ring_pages(std::uint64_t elements, std::uint64_t stride) {
  return (elements * stride + kPageBytes - 1) / kPageBytes;
}

struct QueueGeometry {
  std::uint64_t pages = 0;  // header page included
  RingLayout send;
  RingLayout receive;  // no elements with a shared receive queue
};

// Errors: kResourceExhausted (above a limit), kInvalidArgument (counts that do
// not fit together).
Result<QueueGeometry> queue_geometry(const abi::CreateQpCommand& command,
                                     const DeviceLimits& limits);

}  // namespace paravane::device
