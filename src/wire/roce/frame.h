// parse_frame() makes a value of an Ethernet frame with a RoCE packet, as a stranger on the network
// sends it: checked, and bounded by the frame.
//
// Accepted are RoCE v1, and v2 over IPv4 and IPv6 without options, with a priority tag (VLAN 0) or
// without a tag. The checks are those of receivers in the standards: IBTA volume 1, 9.6 and annexes
// A16 and A17; RFC 791, 8200 and 768. Reserved bits and the content of padding are ignored. So is
// the UDP checksum, since the invariant CRC covers more. Whether the packet fits its queue pair
// (its keys, its number, its length among those of its message) is for the queue pair to judge.
//
// Lengths are in bytes. Pure functions; any thread. Nothing is allocated.

#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>

#include "wire/roce/packet.h"

namespace paravane::wire::roce {

struct Frame {
  Packet packet;
  // Without padding and CRC; packet.payload_bytes long. Points into the bytes that were parsed.
  std::span<const std::byte> payload;
};

// Why a frame is refused. The values are dense, for counters.
enum class FrameFault : std::uint8_t {
  kTooShort,           // it ends before its headers do
  kNotRoce,            // another protocol, or a tag of a VLAN: not an error
  kIpOptions,          // IPv4 options or an extension header of IPv6, in front of UDP of any port
  kFragment,           // a fragment of UDP of any port
  kBadIpVersion,       // of the network header
  kBadLength,          // two lengths disagree, or one with the bytes
  kBadChecksum,        // of the IPv4 header
  kBadAddress,         // a source that no single host has, or an IPv4 address in an IPv6 header
  kBadSegments,        // a superframe that disagrees with its segment size (superframe.h)
  kBadVersion,         // of the base header
  kUnknownOpcode,      // a service that Paravane does not have, or reserved
  kBadPad,             // more padding than there are bytes
  kPayloadNotAllowed,  // the opcode has none
  kPayloadTooLong,     // more than kMaxPayloadBytes
  kBadIcrc,            // all else is right
};
inline constexpr std::size_t kFrameFaults = static_cast<std::size_t>(FrameFault::kBadIcrc) + 1;

// The smallest Ethernet frame, without its checksum and a tag. Bytes may follow a packet up to
// here.
inline constexpr std::size_t kMinFrameBytes = 60;

// `frame`: from the destination's MAC address on, without Ethernet's checksum. The result points
// into it.
std::expected<Frame, FrameFault> parse_frame(std::span<const std::byte> frame);

}  // namespace paravane::wire::roce
