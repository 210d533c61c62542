// The MAC addresses of stations and of groups, and those that frames to IP groups have (RFC 1112,
// 6.4; RFC 2464, 7).
//
// Pure functions; any thread.

#pragma once

#include <cstddef>
#include <span>

#include "ipoib/group_name.h"
#include "wire/roce/headers.h"

namespace paravane::ipoib {

using wire::roce::MacBytes;

inline constexpr MacBytes kBroadcastMac{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

// Broadcast is one, too.
constexpr bool is_group_mac(const MacBytes& mac) {
  return (mac[0] & 1) != 0;
}
// Whether it can be the address of one station.
constexpr bool is_station_mac(const MacBytes& mac) {
  return !is_group_mac(mac) && mac != MacBytes{};
}

MacBytes mac_of_group(const IpGroup& group);
// The MAC of the group that an IP packet is for. One for a single node that came to all is for the
// one that knows it, as an answer of DHCP is: it has the broadcast's.
MacBytes group_mac_of(std::span<const std::byte> packet);

}  // namespace paravane::ipoib
