// Defines the local route header, with which every packet of an InfiniBand subnet begins (IBTA
// volume 1, 7.7), and the numbers that it carries.
//
// Numbers are in the byte order of the wire, lengths in bytes. Plain values and pure functions; any
// thread.

#pragma once

#include <cstddef>
#include <cstdint>

#include "base/wire_int.h"

namespace paravane::wire::infiniband {

// Local identifiers (4.1.3). 0 is reserved.
inline constexpr std::uint16_t kFirstMulticastLid = 0xC000;
inline constexpr std::uint16_t kPermissiveLid = 0xFFFF;
constexpr bool is_unicast_lid(std::uint16_t lid) {
  return lid != 0 && lid < kFirstMulticastLid;
}
constexpr bool is_multicast_lid(std::uint16_t lid) {
  return lid >= kFirstMulticastLid && lid != kPermissiveLid;
}

// The lane of subnet management (7.6.1).
inline constexpr std::uint8_t kManagementLane = 15;

// What follows the header (7.7.4).
enum class NextHeader : std::uint8_t { kRaw = 0, kIpv6Raw = 1, kTransport = 2, kGlobalRoute = 3 };

struct LocalRouteHeader {
  std::uint8_t lane_version = 0;  // virtual lane, 4 bits; version of the link, 4 bits: 0
  std::uint8_t level_next = 0;    // service level, 4 bits; reserved, 2; NextHeader, 2
  Be16 destination;               // a LID
  Be16 length;                    // 11 bits: words of 4 bytes from here to the invariant CRC
  Be16 source;                    // a LID

  constexpr std::uint8_t lane() const { return lane_version >> 4; }
  constexpr std::uint8_t link_version() const { return lane_version & 0x0F; }
  constexpr std::uint8_t service_level() const { return level_next >> 4; }
  constexpr NextHeader next() const { return static_cast<NextHeader>(level_next & 3); }
  constexpr std::size_t words() const { return length.get() & 0x07FF; }

  constexpr void set_lane(std::uint8_t lane) {
    lane_version = static_cast<std::uint8_t>(lane << 4);
  }
  constexpr void set_level_next(std::uint8_t level, NextHeader next) {
    level_next = static_cast<std::uint8_t>((level << 4) | static_cast<std::uint8_t>(next));
  }
};
static_assert(sizeof(LocalRouteHeader) == 8);

}  // namespace paravane::wire::infiniband
