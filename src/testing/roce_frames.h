// Frames with RoCE packets: any packet, each with its own value in each field, and what a kernel
// makes of frames when it merges or splits them. The frames are what a tap delivers.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wire/roce/packet.h"

namespace paravane::fake {

using FrameBytes = std::vector<std::byte>;

// All codes that packets have.
std::vector<wire::roce::Opcode> all_opcodes();

// A packet with a value of its own in each field that the network and the opcode have; the others
// are as in a Packet. `number` makes the values differ.
wire::roce::Packet packet_of(wire::roce::Network network, wire::roce::Opcode opcode,
                             std::uint32_t number);

// Bytes that differ from one another and by `number`.
FrameBytes payload_of(std::size_t bytes, std::uint32_t number);

// As the writer builds it; payload_bytes is that of `payload`.
FrameBytes frame_of(wire::roce::Packet packet, std::span<const std::byte> payload);

// Where the packet begins in a frame without a tag, and where its base header does.
inline constexpr std::size_t kNetworkAt = sizeof(wire::roce::EthernetHeader);
std::size_t base_at(wire::roce::Network network);

// Sets the header checksum of a frame with IPv4, as a router does. REQUIRES: the header is there.
void mend_checksum(std::span<std::byte> frame);

// Sets the CRC at the end of `frame`, which has neither tag nor padding.
void mend_icrc(wire::roce::Network network, std::span<std::byte> frame);

// As Linux merges frames of one flow. REQUIRES: RoCE v2 without tag and padding; all but the last
// are equally long.
FrameBytes merged(std::span<const FrameBytes> frames);

// The frame that Linux makes of the segment with this number, as UDP segmentation offload does.
// `counts`: false gives it the identification of the first, as adapters send all. REQUIRES: RoCE v2
// without a tag; the segment is there.
FrameBytes segment_of(wire::roce::Network network, std::span<const std::byte> superframe,
                      std::size_t segment_bytes, std::size_t number, bool counts = true);

}  // namespace paravane::fake
