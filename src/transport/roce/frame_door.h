// FrameDoor is where Ethernet frames of one adapter come in and go out, such as a tap. RoCE packets
// may come and go as superframes, which hold many packets of one flow.
//
// Owner thread only. No call blocks.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/roce/superframe_writer.h"

namespace paravane::transport_roce {

class FrameDoor {
 public:
  virtual ~FrameDoor() = default;

  // A frame that has come, from the destination's MAC address on.
  struct Received {
    std::span<const std::byte> bytes;
    std::size_t segment_bytes = 0;  // of a superframe, as for wire::roce::Superframe; 0: none
  };
  // The next frame, valid until the next call; nullopt: none is there now.
  virtual std::optional<Received> receive() = 0;

  // False: there is no room now, and nothing was sent.
  virtual bool send(const wire::roce::SuperframeWriter::Whole& whole) = 0;

  // The largest packet that the network carries, in bytes, without the Ethernet header.
  virtual std::uint32_t mtu() const { return 0xFFFF; }

  // How many packets one frame may hold; 1: this door takes no superframes.
  virtual std::size_t most_packets() const = 0;
};

}  // namespace paravane::transport_roce
