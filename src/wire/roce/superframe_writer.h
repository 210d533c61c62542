// SuperframeWriter puts packets of one flow together into one frame, which the kernel cuts apart
// (virtio-net: a gso_type of UDP, and a gso_size). One frame for many packets costs the sender a
// twentieth of one frame for each.
//
// All packets but the last have the same size, and the IPv4 identifications count up, because
// Linux's segmentation makes them so and each packet's CRC covers its own. Superframe takes apart
// what this class puts together.
//
// Lengths are in bytes. One thread at a time. Nothing is allocated after the construction.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wire/roce/packet.h"

namespace paravane::wire::roce {

class SuperframeWriter {
 public:
  // `most_packets`: of one frame; 1: each packet is a frame of its own.
  explicit SuperframeWriter(std::size_t most_packets);

  // Whether the packet can join those that are there. The identification is not compared; add()
  // sets it.
  bool takes(const Packet& packet) const;
  // Writes the packet's headers. Returns the place for its payload, which is valid until seal() or
  // take_back(), one of which must follow. REQUIRES: takes(packet).
  std::span<std::byte> add(const Packet& packet);
  // The payload is in its place. Writes the padding and the CRC.
  void seal();
  // Takes the packet out that add() has begun.
  void take_back();

  bool empty() const { return packets_ == 0; }
  std::size_t packets() const { return packets_; }

  struct Whole {
    std::span<const std::byte> frame;
    // The payload of one UDP datagram (gso_size). 0: the frame is one packet.
    std::size_t segment_bytes = 0;
    // Where the UDP header begins, and its checksum, which the kernel completes for each datagram.
    std::size_t udp_at = 0;
  };
  // The frame with all packets, valid until clear(). REQUIRES: !empty().
  Whole finish();
  void clear();

 private:
  // Ethernet, the network header and UDP.
  static constexpr std::size_t kMostSharedBytes =
      sizeof(EthernetHeader) + sizeof(LongHeader) + sizeof(UdpHeader);

  static std::size_t segment_of(const Packet& packet);  // its UDP payload

  std::size_t most_packets_;
  std::vector<std::byte> bytes_;
  std::size_t used_ = 0;
  std::size_t packets_ = 0;
  std::size_t shared_bytes_ = 0;   // of the headers before the first base header
  std::size_t segment_bytes_ = 0;  // of the first packet
  bool is_closed_ = false;         // the last packet is shorter than the others
  Packet first_;
  // The packet that add() has begun.
  Packet current_;
  std::size_t current_segment_ = 0;  // its UDP payload
  std::size_t current_at_ = 0;       // of its own headers, which lie over the end of the one before
  std::array<std::byte, kMostSharedBytes> covered_{};  // what was there
};

}  // namespace paravane::wire::roce
