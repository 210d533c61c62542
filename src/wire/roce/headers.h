// Defines the headers of RoCE v1 and v2 packets as they appear on the wire, beginning with Ethernet
// (IBTA volume 1, 9.2 and 9.3; annexes A16 and A17).
//
// Numbers are in the byte order of the wire, lengths in bytes. Plain values and pure functions; any
// thread.

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/wire_int.h"

namespace paravane::wire::roce {

using MacBytes = std::array<std::uint8_t, 6>;
using GidBytes = std::array<std::uint8_t, 16>;

enum class Network : std::uint8_t { kV1, kV2Ipv4, kV2Ipv6 };

inline constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr std::uint16_t kEtherTypeIpv6 = 0x86DD;
inline constexpr std::uint16_t kEtherTypeVlan = 0x8100;
inline constexpr std::uint16_t kEtherTypeRoceV1 = 0x8915;
inline constexpr std::uint16_t kUdpPort = 4791;
inline constexpr std::uint8_t kProtocolUdp = 17;
inline constexpr std::uint8_t kNextHeaderIba = 0x1B;
inline constexpr std::uint16_t kDefaultPkey = 0xFFFF;
inline constexpr std::size_t kIcrcBytes = 4;

struct EthernetHeader {
  MacBytes destination{};
  MacBytes source{};
  Be16 type;
};
static_assert(sizeof(EthernetHeader) == 14);

// What follows a type of kEtherTypeVlan (IEEE 802.1Q).
struct VlanTag {
  Be16 control;  // priority, and the number of the VLAN; 0: only a priority
  Be16 type;
};
static_assert(sizeof(VlanTag) == 4);
inline constexpr std::uint16_t kVlanMask = 0x0FFF;

struct Ipv4Header {
  std::uint8_t version_length = 0x45;
  std::uint8_t type_of_service = 0;
  Be16 total_length;
  Be16 identification;
  Be16 flags_fragment;
  std::uint8_t time_to_live = 0;
  std::uint8_t protocol = kProtocolUdp;
  Be16 checksum;
  std::array<std::uint8_t, 4> source{};
  std::array<std::uint8_t, 4> destination{};
};
static_assert(sizeof(Ipv4Header) == 20);
static_assert(offsetof(Ipv4Header, checksum) == 10);

inline constexpr std::uint16_t kDoNotFragment = 0x4000;

// RFC 1071. For a header whose checksum field is 0, the checksum that belongs there; for a complete
// header, 0 if its checksum is right.
constexpr std::uint16_t checksum_of(const Ipv4Header& header) {
  std::uint32_t sum = 0;
  for (const Be16& word : std::bit_cast<std::array<Be16, sizeof(Ipv4Header) / 2>>(header)) {
    sum += word.get();
  }
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

// An IPv6 header; a GRH has the same shape.
struct LongHeader {
  Be32 version_class_flow;
  Be16 payload_length;
  std::uint8_t next_header = 0;
  std::uint8_t hop_limit = 0;
  GidBytes source{};
  GidBytes destination{};
};
static_assert(sizeof(LongHeader) == 40);
static_assert(offsetof(LongHeader, hop_limit) == 7);
inline constexpr std::uint32_t kFlowLabelMask = 0xF'FFFF;

struct UdpHeader {
  Be16 source_port;
  Be16 destination_port{kUdpPort};
  Be16 length;
  Be16 checksum;  // 0: none
};
static_assert(sizeof(UdpHeader) == 8);
static_assert(offsetof(UdpHeader, checksum) == 6);

// The network header, and UDP's of RoCE v2.
constexpr std::size_t network_bytes(Network network) {
  switch (network) {
    case Network::kV1: return sizeof(LongHeader);
    case Network::kV2Ipv4: return sizeof(Ipv4Header) + sizeof(UdpHeader);
    case Network::kV2Ipv6: return sizeof(LongHeader) + sizeof(UdpHeader);
  }
  return 0;
}

// What routers say about congestion: the lowest two bits of a traffic class (RFC 3168).
enum class Ecn : std::uint8_t {
  kNotCapable = 0,
  kCapable1 = 1,
  kCapable0 = 2,
  kCongestionExperienced = 3,
};
constexpr Ecn ecn_of(std::uint8_t traffic_class) {
  return static_cast<Ecn>(traffic_class & 3);
}
constexpr std::uint8_t with_ecn(std::uint8_t traffic_class, Ecn ecn) {
  return static_cast<std::uint8_t>((traffic_class & ~3U) | static_cast<std::uint8_t>(ecn));
}

// IBTA 9.2.
struct BaseHeader {
  std::uint8_t opcode = 0;
  std::uint8_t flags = 0;  // solicited event, migration, pad count, version
  Be16 pkey{kDefaultPkey};
  std::uint8_t reserved = 0;  // FECN and BECN of RoCE v2
  Be24 destination_qp;
  std::uint8_t ack_request = 0;  // the highest bit
  Be24 psn;
};
static_assert(sizeof(BaseHeader) == 12);
static_assert(offsetof(BaseHeader, reserved) == 4);

inline constexpr std::uint8_t kSolicitedEvent = 0x80;
inline constexpr std::uint8_t kMigrated = 0x40;
inline constexpr unsigned kPadShift = 4;
inline constexpr std::uint8_t kPadMask = 3;
inline constexpr std::uint8_t kVersionMask = 0x0F;
inline constexpr std::uint8_t kFecn = 0x80;
inline constexpr std::uint8_t kBecn = 0x40;
inline constexpr std::uint8_t kAckRequest = 0x80;

struct DatagramHeader {
  Be32 qkey;
  std::uint8_t reserved = 0;
  Be24 source_qp;
};
static_assert(sizeof(DatagramHeader) == 8);

struct RdmaHeader {
  Be64 address;
  Be32 rkey;
  Be32 length;
};
static_assert(sizeof(RdmaHeader) == 16);

struct AtomicHeader {
  Be64 address;
  Be32 rkey;
  Be64 swap_or_add;
  Be64 compare;
};
static_assert(sizeof(AtomicHeader) == 28);

struct AckHeader {
  std::uint8_t syndrome = 0;
  Be24 message_number;
};
static_assert(sizeof(AckHeader) == 4);

// What a congestion notification has in the place of other headers (annex A17.9).
struct CongestionHeader {
  std::array<std::uint8_t, 16> reserved{};
};
static_assert(sizeof(CongestionHeader) == 16);

}  // namespace paravane::wire::roce
