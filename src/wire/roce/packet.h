// Packet describes one RoCE packet as a value and writes its bytes. A packet consists of the
// headers, the payload, the padding and the invariant CRC, in this order.
//
// Captures (sniff/) show the packets that would be on a RoCE wire, and build them here. The same
// value describes a packet that was received (frame.h).
//
// Lengths are in bytes. Pure functions; any thread.

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/roce/headers.h"
#include "wire/roce/icrc.h"
#include "wire/roce/opcode.h"

namespace paravane::wire::roce {

// The addresses of a packet. An IPv4 address is given as a mapped GID, of which it is the last four
// bytes.
struct Route {
  Network network = Network::kV2Ipv4;
  MacBytes source_mac{};
  MacBytes destination_mac{};
  GidBytes source{};
  GidBytes destination{};
  std::uint32_t flow_label = 0;  // not over IPv4
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;
  std::uint16_t udp_source_port = 0;  // v2

  // Written out, since it stands before each packet that is sent: compilers call memcmp() for
  // arrays of 16 bytes.
  friend bool operator==(const Route& a, const Route& b) {
    using Words = std::array<std::uint64_t, 2>;
    return std::bit_cast<Words>(a.destination) == std::bit_cast<Words>(b.destination) &&
           a.udp_source_port == b.udp_source_port &&
           std::bit_cast<Words>(a.source) == std::bit_cast<Words>(b.source) &&
           a.network == b.network && a.source_mac == b.source_mac &&
           a.destination_mac == b.destination_mac && a.flow_label == b.flow_label &&
           a.traffic_class == b.traffic_class && a.hop_limit == b.hop_limit;
  }
};

struct Packet {
  Route route;
  Opcode opcode = Opcode::kSendOnly;
  bool solicited = false;
  bool migrated = true;  // the state of path migration
  bool wants_ack = false;
  bool fecn = false;  // congestion on the way here
  bool becn = false;  // congestion on the way back
  std::uint16_t pkey = kDefaultPkey;
  // v2 over IPv4, where the CRC covers both.
  std::uint16_t identification = 0;
  bool may_be_fragmented = false;
  std::uint32_t destination_qp = 0;
  std::uint32_t psn = 0;
  std::uint32_t payload_bytes = 0;
  // The fields below are used if the opcode has them.
  std::uint32_t qkey = 0;
  std::uint32_t source_qp = 0;
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
  std::uint32_t length = 0;  // of the whole message
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;
  std::uint8_t syndrome = 0;
  std::uint32_t message_number = 0;
  std::uint64_t original = 0;  // what an atomic found
  std::array<std::byte, 4> immediate{};
  std::uint32_t invalidated_key = 0;

  friend bool operator==(const Packet&, const Packet&) = default;
};

// The largest path MTU (IBTA 9.7.1), which no payload exceeds.
inline constexpr std::size_t kMaxPayloadBytes = 4096;

// Ethernet, a long network header, UDP, and the longest extensions of one opcode.
inline constexpr std::size_t kMostHeaderBytes = sizeof(EthernetHeader) + sizeof(LongHeader) +
                                                sizeof(UdpHeader) + sizeof(BaseHeader) +
                                                sizeof(AtomicHeader);
// Padding and CRC.
inline constexpr std::size_t kMostEndBytes = 3 + kIcrcBytes;

// The size of these headers.
constexpr std::size_t extension_bytes(Extensions has) {
  std::size_t bytes = 0;
  if ((has & kDeth) != 0) bytes += sizeof(DatagramHeader);
  if ((has & kReth) != 0) bytes += sizeof(RdmaHeader);
  if ((has & kAtomicEth) != 0) bytes += sizeof(AtomicHeader);
  if ((has & kAeth) != 0) bytes += sizeof(AckHeader);
  if ((has & kAtomicAckEth) != 0) bytes += sizeof(Be64);
  if ((has & kImmDt) != 0) bytes += sizeof(Packet::immediate);
  if ((has & kIeth) != 0) bytes += sizeof(Be32);
  if ((has & kCongestion) != 0) bytes += sizeof(CongestionHeader);
  return bytes;
}

// The size of the whole packet on the wire, without Ethernet's checksum.
std::size_t packet_bytes(const Packet& packet);

// Writes all headers, which precede the payload, and returns their size. REQUIRES: `out` has space
// for kMostHeaderBytes.
std::size_t write_headers(const Packet& packet, std::span<std::byte> out);

// Writes the padding and the CRC, which follow the payload. REQUIRES: `whole` has packet_bytes(),
// and contains the headers and the payload.
void write_end(const Packet& packet, std::span<std::byte> whole);

// The UDP source port that Linux gives to a flow (rdma_get_udp_sport). It is derived from the flow
// label or, if that is 0, from the numbers of the two queue pairs.
std::uint16_t udp_source_port(std::uint32_t flow_label, std::uint32_t local_qp,
                              std::uint32_t remote_qp);

}  // namespace paravane::wire::roce
