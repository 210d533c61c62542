// RoceMessages: the packets of RDMA messages as superframes, with their ICRCs and without a
// protocol. RoceFrames writes them, read_frame() reads them.
//
// One thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/roce/frame_door.h"

namespace paravane::bench {

// The packets of messages of one size.
struct RoceMessages {
  std::uint32_t bytes = 64 << 10;
  std::uint32_t mtu = 4096;
  bool reads = false;  // answers to READs

  std::uint32_t packets() const { return (bytes + mtu - 1) / mtu; }
  // Packet `number` of a message, or of those that follow it.
  wire::roce::Packet packet(std::uint32_t number) const;
};

// Writes the superframes of messages into a door.
class RoceFrames {
 public:
  RoceFrames(const RoceMessages& messages, const wire::roce::Route& route,
             transport_roce::FrameDoor& door);
  void send_message();
  // Sends what is collected.
  void flush();
  std::uint64_t packets() const { return packets_; }  // that were written

 private:
  RoceMessages messages_;
  transport_roce::FrameDoor& door_;
  wire::roce::Route route_;
  std::vector<std::byte> payload_;
  wire::roce::SuperframeWriter writer_;
  std::uint64_t packets_ = 0;
};

// The number of packets of a frame, which must be right; what they carry is added to `bytes`.
std::uint64_t read_frame(const transport_roce::FrameDoor::Received& received, std::uint64_t& bytes);

// Sends what `writer` has, as soon as there is room.
void send_all(transport_roce::FrameDoor& door, wire::roce::SuperframeWriter& writer);

}  // namespace paravane::bench
