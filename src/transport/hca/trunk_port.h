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
    // ---- Of a lane, whose number is in `buffer` ----
    kLaneSent,      // its oldest message
    kLaneReceived,  // `bytes` in the places of its oldest receive
    kLaneFailed,    // it is of no use until it is connected anew
  };
  Kind kind = Kind::kFailed;
  std::uint32_t buffer = 0;
  std::uint32_t bytes = 0;
  std::uint32_t immediate = 0;  // of the message, as the peer's post_send() had it
};

// A piece of guest memory, and the key by which the adapter reaches it.
struct LanePlace {
  std::span<std::byte> bytes;
  std::uint32_t key = 0;
};

// The sequence numbers that the first packets of a lane have.
struct LaneNumbers {
  std::uint32_t lane = 0;  // from 1
  std::uint32_t own_psn = 0;
  std::uint32_t peer_psn = 0;
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

  // ---- Lanes (wire/lane_frames.h) ---- Queue pairs beside the port's own, whose completions come
  // with its own. At first none is connected.

  // False: it cannot be connected. Takes as long as the kernel needs to find the peer; any thread,
  // while no other uses that lane.
  virtual bool connect_lane(const LaneNumbers& numbers) = 0;
  // When it returns, the adapter accesses nothing that was posted, and no completion of it comes
  // any more. REQUIRES: it was connected.
  virtual void close_lane(std::uint32_t lane) = 0;
  virtual std::size_t most_places() const = 0;
  // False: the lane is of no use.
  virtual bool post_lane_receive(std::uint32_t lane, std::span<const LanePlace> places) = 0;
  virtual bool post_lane_send(std::uint32_t lane, std::span<const LanePlace> places,
                              std::uint32_t immediate) = 0;

  // The reason why the port has failed, for the log.
  virtual std::string problem() const = 0;
};

}  // namespace paravane::transport_hca
