// Transfers payload between guest memory and a stream without an intermediate copy.
//
// The stream gets addresses for the length of one call and must not keep them. Memory that fails
// during the call (SIGBUS for this process, EFAULT for the kernel) is detected here: its owner
// loses the device, as everywhere, and the stream is not affected.
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
    kWouldBlock,  // nothing at the moment
    kClosed,      // the other side has ended the stream
    kBroken,      // the stream is of no more use
    kBadMemory,   // the memory failed, nothing was moved; GuestMemory::failed() tells whose
  };
  Kind kind = Kind::kMoved;
  std::size_t bytes = 0;
  bool was_all = false;  // of a read: there was no more at the moment
  // Additional effort, as bytes that could have been moved in that time: a peer that sends much
  // other than payload pays for it.
  std::size_t effort = 0;
};

class PayloadStream {
 public:
  virtual ~PayloadStream() = default;

  // Moves what it can without waiting. kBadMemory: the kernel could not use the memory.
  virtual IoResult read(std::span<const iovec> to) = 0;
  virtual IoResult write(std::span<const iovec> from) = 0;
};

// Reads into the first `payload_bytes` of `payload` and then into `after`, which are
// host buffers. The kernel decides the order in which bytes become visible: a caller to whom the
// last cache line matters leaves it out and writes it with scatter_payload().
IoResult read_payload(PayloadStream& stream, const ExtentList& payload, std::uint64_t payload_bytes,
                      std::span<const std::span<std::byte>> after);

// Writes `before`, which is ours, then `payload`, then `after`, which is ours too.
IoResult write_payload(PayloadStream& stream, std::span<const std::byte> before,
                       const ExtentList& payload, std::span<const std::byte> after = {});

// CRC-32C, to be gone on with: 0 to begin with. Of the first `bytes` of the list.
std::uint32_t digest_payload(const ExtentList& list, std::uint64_t bytes, std::uint32_t so_far);
std::uint32_t digest_bytes(std::span<const std::byte> bytes, std::uint32_t so_far);

}  // namespace paravane
