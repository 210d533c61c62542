// TrunkPort is one connected queue pair of an RDMA adapter, with the host buffers that it sends
// from and receives into. A message of the queue pair is one buffer's first bytes and 32 bits
// beside them. TrunkStream makes a stream of bytes of it.
//
// Owner thread only. No call blocks.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace paravane::transport_hca {

// Of each direction: 2 MiB.
inline constexpr std::uint32_t kTrunkBuffers = 32;
inline constexpr std::uint32_t kTrunkBufferBytes = 64 * 1024;
// Of both: what the adapter locks for one trunk.
inline constexpr std::size_t kTrunkBytes = std::size_t{2} * kTrunkBuffers * kTrunkBufferBytes;

struct TrunkCompletion {
  enum class Kind : std::uint8_t {
    kSent,      // the buffer is free again
    kReceived,  // the buffer has `bytes` of a message
    kFailed,    // the queue pair is of no use any more
  };
  Kind kind = Kind::kFailed;
  std::uint32_t buffer = 0;
  std::uint32_t bytes = 0;
  std::uint32_t immediate = 0;  // of the message, as the peer's post_send() had it
};

class TrunkPort {
 public:
  virtual ~TrunkPort() = default;

  virtual std::span<std::byte, kTrunkBufferBytes> send_buffer(std::uint32_t buffer) = 0;
  virtual std::span<const std::byte, kTrunkBufferBytes> receive_buffer(
      std::uint32_t buffer) const = 0;

  // All receive buffers are posted when the port is made. A buffer that has received is posted
  // again by this. False: the adapter refuses, and the port is of no use any more.
  virtual bool post_receive(std::uint32_t buffer) = 0;
  // The buffer is the adapter's until kSent. False: likewise.
  virtual bool post_send(std::uint32_t buffer, std::uint32_t bytes, std::uint32_t immediate) = 0;

  // The next completion; nullopt: there is none at the moment.
  virtual std::optional<TrunkCompletion> next() = 0;
  // Lets fd() become readable when the next completion comes, which may have come already. False:
  // the port is of no use any more.
  virtual bool arm() = 0;
  // Takes what made fd() readable. False: nothing has.
  virtual bool take_event() = 0;
  virtual int fd() const = 0;

  // Why the port is of no use any more, for the log.
  virtual std::string problem() const = 0;
};

}  // namespace paravane::transport_hca
