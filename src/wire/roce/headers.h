// Defines the headers of RoCE v1 and v2 packets as they appear on the wire, beginning with Ethernet
// (IBTA volume 1, 9.2 and 9.3; annexes A16 and A17).
//
// Plain values; any thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/wire_int.h"

namespace paravane::wire::roce {

using MacBytes = std::array<std::uint8_t, 6>;
using GidBytes = std::array<std::uint8_t, 16>;

inline constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr std::uint16_t kEtherTypeIpv6 = 0x86DD;
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

struct Ipv4Header {
  std::uint8_t version_length = 0x45;
  std::uint8_t type_of_service = 0;
  Be16 total_length;
  Be16 identification;
  Be16 flags_fragment{0x4000};  // do not fragment
  std::uint8_t time_to_live = 0;
  std::uint8_t protocol = kProtocolUdp;
  Be16 checksum;
  std::array<std::uint8_t, 4> source{};
  std::array<std::uint8_t, 4> destination{};
};
static_assert(sizeof(Ipv4Header) == 20);
static_assert(offsetof(Ipv4Header, checksum) == 10);

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

struct UdpHeader {
  Be16 source_port;
  Be16 destination_port{kUdpPort};
  Be16 length;
  Be16 checksum;  // 0: none
};
static_assert(sizeof(UdpHeader) == 8);
static_assert(offsetof(UdpHeader, checksum) == 6);

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

}  // namespace paravane::wire::roce
