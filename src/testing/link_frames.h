// Ethernet frames for tests of interfaces, byte by byte and apart from the code that is tested:
// UDP in IPv4 and IPv6, RoCE v1, ARP, and tags of IEEE 802.1Q.

#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace paravane::fake {

using Frame = std::vector<std::uint8_t>;
using Mac = std::array<std::uint8_t, 6>;

constexpr std::uint16_t kRoceUdp = 4791;

inline void put16(Frame& frame, std::uint32_t value) {
  frame.push_back(static_cast<std::uint8_t>(value >> 8));
  frame.push_back(static_cast<std::uint8_t>(value));
}
inline std::uint32_t get16(const Frame& frame, std::size_t at) {
  return static_cast<std::uint32_t>((frame.at(at) << 8) | frame.at(at + 1));
}

inline Frame ethernet_frame(const Mac& to, const Mac& from, std::uint16_t type, const Frame& rest) {
  Frame frame(to.begin(), to.end());
  frame.insert(frame.end(), from.begin(), from.end());
  put16(frame, type);
  frame.insert(frame.end(), rest.begin(), rest.end());
  if (frame.size() < 60) frame.resize(60, 0);
  return frame;
}

inline std::uint16_t checksum_of(const Frame& bytes, std::size_t begin, std::size_t end,
                                 std::uint32_t sum = 0) {
  for (std::size_t i = begin; i < end; i += 2) {
    sum += static_cast<std::uint32_t>(bytes[i] << 8) | (i + 1 < end ? bytes[i + 1] : 0u);
  }
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

struct Udp {
  std::uint16_t port = kRoceUdp;
  std::size_t payload = 64;
  std::uint8_t protocol = 17;
  std::uint16_t fragment = 0x4000;  // the whole field: do not fragment
  bool options = false;
};

inline Frame ipv4_packet(const Udp& udp) {
  const std::size_t words = udp.options ? 6 : 5;
  Frame packet = {static_cast<std::uint8_t>(0x40 | words), 0};
  put16(packet, static_cast<std::uint32_t>(words * 4 + 8 + udp.payload));
  put16(packet, 100);
  put16(packet, udp.fragment);
  packet.push_back(64);
  packet.push_back(udp.protocol);
  put16(packet, 0);
  packet.insert(packet.end(), {10, 0, 0, 1, 10, 0, 0, 2});
  if (udp.options) packet.insert(packet.end(), {1, 1, 1, 1});
  const std::uint32_t sum = checksum_of(packet, 0, packet.size());
  packet[10] = static_cast<std::uint8_t>((sum ^ 0xFFFF) >> 8);
  packet[11] = static_cast<std::uint8_t>(sum ^ 0xFFFF);
  put16(packet, 0xC000);
  put16(packet, udp.port);
  put16(packet, static_cast<std::uint32_t>(8 + udp.payload));
  put16(packet, 0);
  for (std::size_t i = 0; i < udp.payload; ++i) packet.push_back(static_cast<std::uint8_t>(i * 7));
  return packet;
}

inline Frame ipv6_packet(std::uint16_t port, std::uint8_t next_header = 17) {
  Frame packet = {0x60, 0, 0, 0, 0, 72, next_header, 64};
  for (std::uint8_t last = 1; last <= 2; ++last) {
    packet.push_back(0xFE);
    packet.push_back(0x80);
    packet.resize(packet.size() + 13, 0);
    packet.push_back(last);
  }
  put16(packet, 0xC000);
  put16(packet, port);
  put16(packet, 72);
  put16(packet, 0x1234);
  packet.resize(packet.size() + 64, 0x5A);
  return packet;
}

inline Frame ipv4_frame(const Mac& to, const Mac& from, const Udp& udp) {
  return ethernet_frame(to, from, 0x0800, ipv4_packet(udp));
}
inline Frame ipv6_frame(const Mac& to, const Mac& from, std::uint16_t port,
                        std::uint8_t next_header = 17) {
  return ethernet_frame(to, from, 0x86DD, ipv6_packet(port, next_header));
}
inline Frame roce_v1_frame(const Mac& to, const Mac& from) {
  return ethernet_frame(to, from, 0x8915, Frame(80, 0x11));
}
inline Frame arp_reply(const Mac& to, const Mac& from) {
  Frame rest = {0, 1, 8, 0, 6, 4, 0, 2};
  rest.resize(28, 0x0A);
  return ethernet_frame(to, from, 0x0806, rest);
}
inline Frame with_tag(const Frame& frame, std::uint16_t tag) {
  Frame tagged(frame.begin(), frame.begin() + 12);
  put16(tagged, 0x8100);
  put16(tagged, tag);
  tagged.insert(tagged.end(), frame.begin() + 12, frame.end());
  return tagged;
}

}  // namespace paravane::fake
