// Defines the datagrams of subnet administration (SA) and the records that a client of it asks for:
// a member of a multicast group, and a path (IBTA volume 1, 15.2).
//
// Where several values share a byte, the comment has them from the highest bit down, with their
// number of bits. Numbers are in the byte order of the wire. Plain values; any thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/wire_int.h"
#include "wire/infiniband/datagram.h"
#include "wire/infiniband/mad.h"
#include "wire/infiniband/segments.h"

namespace paravane::wire::infiniband {

inline constexpr std::uint8_t kAdministrationVersion = 2;

struct AdministrationPacket {  // 15.2.1.1
  MadHeader header;
  SegmentHeader segment;
  Be64 key;
  Be16 offset;  // of the next record in a table, in words of 8 bytes
  Be16 reserved;
  Be64 components;  // of a question: which fields of the record it sets
  std::array<std::byte, 200> data{};
};
static_assert(sizeof(AdministrationPacket) == kMadBytes);

// The upper byte of a status (15.2.2, table 186).
enum class AdministrationStatus : std::uint8_t {
  kGood = 0,
  kNoResources = 1,
  kInvalid = 2,  // the request contradicts what there is: a group of a greater MTU, say
  kNoRecords = 3,
  kTooManyRecords = 4,
  kInvalidGid = 5,
  kTooFewComponents = 6,  // a group that does not exist would be made, and the request lacks of it
  kDenied = 7,
};
constexpr AdministrationStatus administration_status(std::uint16_t status) {
  return static_cast<AdministrationStatus>(status >> 8);
}

// The lower six bits of a field that has a selector above it: MTU, rate, life time of packets.
inline constexpr std::uint8_t kValueBits = 0x3F;
// The value with the selector that means no other.
constexpr std::uint8_t exactly(std::uint8_t value) {
  return static_cast<std::uint8_t>(0x80 | value);
}

struct MulticastMember {  // 15.2.5.17
  Gid group{};
  Gid port{};
  Be32 qkey;
  Be16 lid;              // of the group
  std::uint8_t mtu = 0;  // selector 2, MTU 6
  std::uint8_t traffic_class = 0;
  Be16 partition;
  std::uint8_t rate = 0;        // selector 2, rate 6
  std::uint8_t life_time = 0;   // selector 2, 6
  Be32 level_flow_hop;          // service level 4, flow label 20, hop limit 8
  std::uint8_t scope_join = 0;  // scope 4, state of the join 4
  std::array<std::uint8_t, 3> proxy{};

  constexpr std::uint8_t level() const {
    return static_cast<std::uint8_t>(level_flow_hop.get() >> 28);
  }
  constexpr std::uint32_t flow_label() const { return (level_flow_hop.get() >> 8) & 0xF'FFFF; }
  constexpr std::uint8_t hop_limit() const {
    return static_cast<std::uint8_t>(level_flow_hop.get());
  }
};
static_assert(sizeof(MulticastMember) == 52);

// The lower four bits of scope_join.
inline constexpr std::uint8_t kJoinFull = 1;
inline constexpr std::uint8_t kJoinSendOnly = 4;

struct PathRecord {  // 15.2.5.16
  Be64 service;
  Gid destination{};
  Gid source{};
  Be16 destination_lid;
  Be16 source_lid;
  Be32 flow_hop;  // raw traffic 1, reserved 3, flow label 20, hop limit 8
  std::uint8_t traffic_class = 0;
  std::uint8_t reversible_paths = 0;  // reversible 1, number of paths 7
  Be16 partition;
  Be16 class_level;            // class of quality 12, service level 4
  std::uint8_t mtu = 0;        // selector 2, MTU 6
  std::uint8_t rate = 0;       // selector 2, rate 6
  std::uint8_t life_time = 0;  // selector 2, 6
  std::uint8_t preference = 0;
  std::array<std::uint8_t, 6> reserved{};

  constexpr std::uint8_t level() const {
    return static_cast<std::uint8_t>(class_level.get() & 0x0F);
  }
};
static_assert(sizeof(PathRecord) == 64);
inline constexpr std::uint8_t kReversible = 0x80;

// Components: the fields of a record that a question sets.
namespace multicast_component {
inline constexpr std::uint64_t kGroup = 1U << 0;
inline constexpr std::uint64_t kPort = 1U << 1;
inline constexpr std::uint64_t kPartition = 1U << 7;
inline constexpr std::uint64_t kJoinState = 1U << 16;
// Besides these, with which a group that does not exist is made: its Q_Key, MTU, traffic class,
// rate, service level, flow label and hop limit, with the selectors of two.
inline constexpr std::uint64_t kMaking = (1U << 2) | (3U << 4) | (1U << 6) | (3U << 8) | (7U << 12);
}  // namespace multicast_component

namespace path_component {
inline constexpr std::uint64_t kSource = 1U << 3;
inline constexpr std::uint64_t kDestinationLid = 1U << 4;
inline constexpr std::uint64_t kReversible = 1U << 11;
inline constexpr std::uint64_t kNumberOfPaths = 1U << 12;
inline constexpr std::uint64_t kPartition = 1U << 13;
}  // namespace path_component

}  // namespace paravane::wire::infiniband
