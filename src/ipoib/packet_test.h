// What tests of this room share: bytes as text, and IP packets with right lengths and checksums.

#pragma once

#include <fmt/core.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ipoib/checksum.h"
#include "ipoib/ip_packet.h"

namespace paravane::ipoib {

using Bytes = std::vector<std::byte>;

inline std::string hex_of(std::span<const std::byte> bytes) {
  std::string hex;
  for (const std::byte byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return hex;
}

// Without spaces, in which it is written for readers.
inline std::string plain_hex(std::string_view text) {
  std::string hex(text);
  std::erase(hex, ' ');
  return hex;
}

inline Bytes bytes_of(std::string_view text) {
  const std::string hex = plain_hex(text);
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

template <std::size_t kBytes>
std::array<std::uint8_t, kBytes> address_of(std::string_view text) {
  std::array<std::uint8_t, kBytes> address{};
  std::memcpy(address.data(), bytes_of(text).data(), kBytes);
  return address;
}

inline Bytes joined(Bytes first, std::span<const std::byte> second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

struct Ipv4Fields {
  std::string_view source = "0a000001";
  std::string_view destination = "0a000002";
  std::uint8_t protocol = ip_protocol::kUdp;
  std::uint16_t flags_fragment = wire::roce::kDoNotFragment;
  std::string_view options{};  // in units of 4 bytes
};

inline Bytes ipv4_packet(const Ipv4Fields& fields, std::span<const std::byte> payload) {
  const Bytes options = bytes_of(fields.options);
  wire::roce::Ipv4Header header;
  header.version_length = static_cast<std::uint8_t>(0x45 + options.size() / 4);
  header.total_length.set(
      static_cast<std::uint16_t>(sizeof header + options.size() + payload.size()));
  header.identification.set(0x1c46);
  header.flags_fragment.set(fields.flags_fragment);
  header.time_to_live = 64;
  header.protocol = fields.protocol;
  header.source = address_of<4>(fields.source);
  header.destination = address_of<4>(fields.destination);
  Bytes packet(sizeof header);
  std::memcpy(packet.data(), &header, sizeof header);
  packet = joined(packet, options);
  header.checksum.set(checksum_of(packet));
  std::memcpy(packet.data(), &header, sizeof header);
  return joined(packet, payload);
}

inline constexpr std::string_view kVmIpv6 = "fe80000000000000 025056fffe000001";
inline constexpr std::string_view kNodeIpv6 = "fe80000000000000 0202c90300000048";

struct Ipv6Fields {
  std::string_view source = kVmIpv6;
  std::string_view destination = kNodeIpv6;
  std::uint8_t next_header = ip_protocol::kIcmpv6;
  std::uint8_t hop_limit = 255;
};

inline Bytes ipv6_packet(const Ipv6Fields& fields, std::span<const std::byte> payload) {
  wire::roce::LongHeader header;
  header.version_class_flow.set(6U << 28);
  header.payload_length.set(static_cast<std::uint16_t>(payload.size()));
  header.next_header = fields.next_header;
  header.hop_limit = fields.hop_limit;
  header.source = address_of<16>(fields.source);
  header.destination = address_of<16>(fields.destination);
  Bytes packet(sizeof header);
  std::memcpy(packet.data(), &header, sizeof header);
  return joined(packet, payload);
}

// With a right checksum.
inline Bytes icmpv6_packet(const Ipv6Fields& fields, Bytes message) {
  constexpr std::size_t kChecksumAt = 2;
  const Be16 none;
  std::memcpy(message.data() + kChecksumAt, &none, sizeof none);
  const Be16 checksum(
      icmpv6_checksum(address_of<16>(fields.source), address_of<16>(fields.destination), message));
  std::memcpy(message.data() + kChecksumAt, &checksum, sizeof checksum);
  return ipv6_packet(fields, message);
}

}  // namespace paravane::ipoib
