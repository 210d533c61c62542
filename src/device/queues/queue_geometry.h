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

// What a guest asks for.
struct QueueSizes {
  std::uint32_t send_requests = 0;
  std::uint32_t send_sges = 0;
  std::uint32_t receive_requests = 0;
  std::uint32_t receive_sges = 0;
  bool has_receives = true;  // false: they are shared
};

struct QueueGeometry {
  std::uint64_t pages = 0;  // header page included
  RingLayout send;
  RingLayout receive;  // no elements with a shared receive queue
};

// Errors, of all: kResourceExhausted (a limit is exceeded), kInvalidArgument (a count is
// impossible, or the counts contradict each other).
Result<QueueGeometry> queue_geometry(const QueueSizes& sizes, const DeviceLimits& limits);
Result<QueueGeometry> queue_geometry(const abi::CreateQpCommand& command,
                                     const DeviceLimits& limits);
// The pages of a completion queue, and of a shared receive queue, header page included.
Result<std::uint64_t> completion_queue_pages(std::uint32_t entries, const DeviceLimits& limits);
Result<std::uint64_t> shared_receive_queue_pages(std::uint32_t requests, std::uint32_t sges,
                                                 const DeviceLimits& limits);

}  // namespace paravane::device
