// Ethernet frames of VMs with ARP, IPv4 and IPv6 in them, as tests and fuzzers of IPoIB uplinks
// make them.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "ipoib/arp.h"
#include "ipoib/checksum.h"
#include "ipoib/frame.h"
#include "wire/infiniband/ip_over_infiniband.h"

namespace paravane::fake {

using FrameBytes = std::vector<std::byte>;
using wire::infiniband::Ipv4Address;
using wire::infiniband::Ipv6Address;
using wire::roce::MacBytes;

inline constexpr MacBytes kToAll = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
inline constexpr std::size_t kLeastFrame = 60;

// Padded, as a NIC pads it, if it `is_padded`.
inline FrameBytes frame_of(const MacBytes& to, const MacBytes& from, std::uint16_t type,
                           std::span<const std::byte> payload, bool is_padded = true) {
  FrameBytes bytes;
  ipoib::write_frame({.destination = to, .source = from, .type = type, .payload = payload}, bytes);
  if (is_padded && bytes.size() < kLeastFrame) bytes.resize(kLeastFrame);
  return bytes;
}

inline FrameBytes arp_frame(const MacBytes& to, const ipoib::EthernetArp& arp) {
  return frame_of(to, arp.sender, ipoib::type_of(arp.operation), ipoib::ethernet_arp(arp));
}

struct Ipv4Wish {
  Ipv4Address from{10, 0, 0, 1};
  Ipv4Address to{10, 0, 0, 2};
  std::uint8_t protocol = wire::roce::kProtocolUdp;
  bool may_be_fragmented = false;
};
// A packet of `bytes` bytes, with numbers behind its header.
inline FrameBytes ipv4_packet(std::size_t bytes, const Ipv4Wish& wish = {}) {
  wire::roce::Ipv4Header header;
  header.total_length.set(static_cast<std::uint16_t>(bytes));
  header.flags_fragment.set(wish.may_be_fragmented ? 0 : wire::roce::kDoNotFragment);
  header.time_to_live = 64;
  header.protocol = wish.protocol;
  header.source = wish.from;
  header.destination = wish.to;
  header.checksum.set(wire::roce::checksum_of(header));
  FrameBytes packet(bytes);
  for (std::size_t i = 0; i < packet.size(); ++i) packet[i] = static_cast<std::byte>(i);
  std::memcpy(packet.data(), &header, sizeof header);
  return packet;
}

inline FrameBytes ipv6_packet(const Ipv6Address& from, const Ipv6Address& to,
                              std::uint8_t next_header, std::uint8_t hop_limit,
                              std::span<const std::byte> payload) {
  wire::roce::LongHeader header;
  header.version_class_flow.set(6U << 28);
  header.payload_length.set(static_cast<std::uint16_t>(payload.size()));
  header.next_header = next_header;
  header.hop_limit = hop_limit;
  header.source = from;
  header.destination = to;
  FrameBytes packet(sizeof header + payload.size());
  std::memcpy(packet.data(), &header, sizeof header);
  std::ranges::copy(payload, packet.begin() + sizeof header);
  return packet;
}

// A neighbour solicitation (135) or advertisement (136), with an option that has `mac`: of the
// source in the first, of the target in the second.
inline FrameBytes neighbour_packet(std::uint8_t type, const Ipv6Address& from,
                                   const Ipv6Address& to, const Ipv6Address& target,
                                   std::span<const std::uint8_t> link_address) {
  constexpr std::uint8_t kSolicitation = 135;
  constexpr std::size_t kBeforeOptions = 24;
  constexpr std::size_t kUnit = 8;
  const std::size_t reserved = link_address.size() == sizeof(MacBytes) ? 2 : 4;
  FrameBytes message(kBeforeOptions + reserved + link_address.size());
  message[0] = std::byte{type};
  message[4] = std::byte{type == kSolicitation ? std::uint8_t{0} : std::uint8_t{0x60}};
  std::memcpy(&message[8], target.data(), target.size());
  message[kBeforeOptions] = std::byte{type == kSolicitation ? std::uint8_t{1} : std::uint8_t{2}};
  message[kBeforeOptions + 1] = static_cast<std::byte>((reserved + link_address.size()) / kUnit);
  std::memcpy(&message[kBeforeOptions + reserved], link_address.data(), link_address.size());
  const Be16 checksum(ipoib::icmpv6_checksum(from, to, message));
  std::memcpy(&message[2], &checksum, sizeof checksum);
  return ipv6_packet(from, to, 58, 255, message);
}

}  // namespace paravane::fake
