// TrunkPort is one connected queue pair of an RDMA adapter, with its send buffers and receive
// buffers on the host. A message consists of the first bytes of one buffer, and 32 bits of
// immediate data. TrunkStream turns these messages into a stream of bytes.
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
// Of both directions: the memory that the adapter locks for one trunk.
inline constexpr std::size_t kTrunkBytes = std::size_t{2} * kTrunkBuffers * kTrunkBufferBytes;

struct TrunkCompletion {
  enum class Kind : std::uint8_t {
    kSent,      // the buffer is free again
    kReceived,  // the buffer has `bytes` of a message
    kFailed,    // the queue pair has failed
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

  // Posts a buffer again after its message was taken. All receive buffers are posted when the port
  // is made. False: the port has failed.
  virtual bool post_receive(std::uint32_t buffer) = 0;
  // The buffer belongs to the adapter until kSent. False: the port has failed.
  virtual bool post_send(std::uint32_t buffer, std::uint32_t bytes, std::uint32_t immediate) = 0;

  // Returns the next completion; nullopt: no completion is available.
  virtual std::optional<TrunkCompletion> next() = 0;
  // Makes fd() readable when the next completion arrives. A completion may have arrived in the
  // meantime, so next() must be called again. False: the port has failed.
  virtual bool arm() = 0;
  // Consumes the event that made fd() readable. False: no event has arrived.
  virtual bool take_event() = 0;
  virtual int fd() const = 0;

  // The reason why the port has failed, for the log.
  virtual std::string problem() const = 0;
};

}  // namespace paravane::transport_hca
