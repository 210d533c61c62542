// Superframe splits a frame into the packets that the kernel has left together: UDP segmentation
// has not been done yet, or GRO has merged what came (virtio-net: a gso_type of UDP, and a
// gso_size).
//
// All UDP datagrams but the last are equally long. Each of them is a packet from its base header to
// its CRC; they share one set of Ethernet, IP and UDP headers, whose lengths are those of the
// whole. A packet's CRC covers the lengths of its own datagram, and its own IPv4 identification. Of
// that, the shared headers have the first packet's alone. What Linux has not cut apart yet counts
// up from there, and so do packets that GRO has merged, or all have the same, as adapters send
// them. Which of the two it is shows in the first CRC that fits one of them; until then each packet
// is tried with both.
//
// Lengths are in bytes. One thread at a time. Nothing is allocated; the frame's bytes must stay as
// they are while the object or what it gave is used.

#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>

#include "wire/roce/frame.h"
#include "wire/roce/frame_network.h"

namespace paravane::wire::roce {

class Superframe {
 public:
  // How many packets Linux puts into one at most (UDP_MAX_SEGMENTS). open() knows no such bound.
  static constexpr std::size_t kMostOfLinux = 128;

  // `frame`: as for parse_frame(). `segment_bytes`: the payload of one UDP datagram, virtio-net's
  // gso_size. Errors: those of the shared headers, and kBadSegments: v1, or a size that is larger
  // than the payload or with which a packet would have no room for its base header and CRC.
  static std::expected<Superframe, FrameFault> open(std::span<const std::byte> frame,
                                                    std::size_t segment_bytes);

  // At least 1.
  std::size_t segments() const;

  // The next packet, or why that one is refused; those that follow are not affected. nullopt: there
  // are no more.
  std::optional<std::expected<Frame, FrameFault>> next();

 private:
  Superframe(const Envelope& envelope, std::size_t segment_bytes)
      : envelope_(envelope), segment_bytes_(segment_bytes) {}

  bool is_whole(std::span<const std::byte> segment, std::uint16_t identification) const;
  // The packet's identification; nullopt: its CRC fits none.
  std::optional<std::uint16_t> find_identification(std::span<const std::byte> segment);

  Envelope envelope_;  // its transport: the packets that are left
  std::size_t segment_bytes_;
  std::uint16_t taken_ = 0;
  std::optional<bool> counts_;  // whether IPv4 identifications count up; nullopt: not known yet
};

}  // namespace paravane::wire::roce
