// Transfers payload directly between guest memory and a stream, such as a TCP socket, without an
// intermediate copy.
//
// A stream receives host addresses of guest memory for the duration of one call, and must not keep
// them. Memory that fails during the call is detected here (this process receives SIGBUS, or the
// kernel returns EFAULT). The owner of that memory loses its device, and the stream is not
// affected.
//
// Owner thread only.

#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "guestmem/extent.h"

namespace paravane {

struct IoResult {
  enum class Kind : std::uint8_t {
    kMoved,       // `bytes` of it, at least one
    kWouldBlock,  // nothing can be transferred at the moment
    kClosed,      // the other side has ended the stream
    kBroken,      // the stream cannot be used any more
    kBadMemory,   // the memory failed, nothing was moved; GuestMemory::failed() tells whose
  };
  Kind kind = Kind::kMoved;
  std::size_t bytes = 0;
  bool was_all = false;  // for a read: no more data was available
  // The additional effort of the call, as the number of bytes that could have been transferred in
  // the same time. It is charged to a peer that sends much data other than payload.
  std::size_t effort = 0;
};

class PayloadStream {
 public:
  virtual ~PayloadStream() = default;

  // Transfers as much as is possible without waiting. kBadMemory: the kernel could not access the
  // memory.
  virtual IoResult read(std::span<const iovec> to) = 0;
  virtual IoResult write(std::span<const iovec> from) = 0;
};

// Reads into the first `payload_bytes` of `payload` and then into the host buffers `after`. The
// kernel decides the order in which bytes become visible. If the order of the last cache line
// matters, the caller must leave that line out and write it with scatter_payload().
IoResult read_payload(PayloadStream& stream, const ExtentList& payload, std::uint64_t payload_bytes,
                      std::span<const std::span<std::byte>> after);

// Writes `before`, then `payload`, then `after`. `before` and `after` are host buffers.
IoResult write_payload(PayloadStream& stream, std::span<const std::byte> before,
                       const ExtentList& payload, std::span<const std::byte> after = {});

// The places of memory that is lent to an RDMA adapter (loans.h), which keeps them until the loan
// is over. Appended to `places`.
void list_lent(const ExtentList& list, std::vector<std::span<std::byte>>& places);

// The CRC-32C of the first `bytes` of the list, continued from `so_far`, which is 0 at the start.
std::uint32_t digest_payload(const ExtentList& list, std::uint64_t bytes, std::uint32_t so_far);
std::uint32_t digest_bytes(std::span<const std::byte> bytes, std::uint32_t so_far);

}  // namespace paravane
