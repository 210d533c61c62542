// Reads the headers of IP packets from VMs and from the subnet, as far as this room decides by
// them.
//
// What follows the length that a packet states is padding of a link and left out. Pure functions;
// any thread. Spans point into the bytes that were read; nothing is allocated.

#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>

#include "wire/infiniband/ip_over_infiniband.h"
#include "wire/roce/headers.h"

namespace paravane::ipoib {

namespace ip_protocol {
inline constexpr std::uint8_t kIcmp = 1;
inline constexpr std::uint8_t kIgmp = 2;
inline constexpr std::uint8_t kUdp = wire::roce::kProtocolUdp;
inline constexpr std::uint8_t kIcmpv6 = 58;
}  // namespace ip_protocol

struct Ipv4Packet {
  wire::roce::Ipv4Header header;
  std::span<const std::byte> bytes;    // all of it
  std::span<const std::byte> payload;  // what follows the header and its options

  std::size_t header_bytes() const { return bytes.size() - payload.size(); }
  bool may_be_fragmented() const {
    return (header.flags_fragment.get() & wire::roce::kDoNotFragment) == 0;
  }
  // Whether other fragments are before this one.
  bool is_later_fragment() const { return (header.flags_fragment.get() & 0x1FFF) != 0; }
};

// nullopt: not IPv4, shorter than it states, or with a wrong checksum.
std::optional<Ipv4Packet> read_ipv4(std::span<const std::byte> bytes);

struct Ipv6Packet {
  wire::roce::LongHeader header;
  std::span<const std::byte> bytes;
  std::span<const std::byte> payload;  // what follows the header, beginning with extension headers
};

// nullopt: not IPv6, shorter than it states, or without a stated length (a jumbogram).
std::optional<Ipv6Packet> read_ipv6(std::span<const std::byte> bytes);

// What stands behind the extension headers of an IPv6 packet (RFC 8200, 4).
struct UpperLayer {
  std::uint8_t protocol = 0;
  bool is_first = false;               // no extension header is before it
  std::span<const std::byte> payload;  // from its header on
};
enum class NoUpperLayer : std::uint8_t {
  kLaterFragment,  // it is in a fragment before this one
  kShort,          // the packet ends within its headers
};
std::expected<UpperLayer, NoUpperLayer> upper_layer_of(const Ipv6Packet& packet);

}  // namespace paravane::ipoib
