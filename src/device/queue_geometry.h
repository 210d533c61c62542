// The layout of the rings of a queue pair in its pages. The first page is a header with the indices
// of both rings. The pages of the send ring follow, and then those of the receive ring.
//
// The guest supplies the counts, so all sizes are checked with 64-bit arithmetic. Stateless, any
// thread. Source: docs/device-spec.md, sections 6 and 9.

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

// The number of pages that `elements` of `stride` bytes need.
constexpr std::uint64_t ring_pages(std::uint64_t elements, std::uint64_t stride) {
  return (elements * stride + kPageBytes - 1) / kPageBytes;
}

struct QueueGeometry {
  std::uint64_t pages = 0;  // header page included
  RingLayout send;
  RingLayout receive;  // no elements with a shared receive queue
};

// Errors: kResourceExhausted (a limit is exceeded), kInvalidArgument (the counts contradict each
// other).
Result<QueueGeometry> queue_geometry(const abi::CreateQpCommand& command,
                                     const DeviceLimits& limits);

}  // namespace paravane::device
