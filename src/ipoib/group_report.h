// Reads what VMs say of the multicast groups that they listen to: IGMP in its three versions (RFC
// 1112, 2236, 3376) and MLD in its two (RFC 2710, 3810); and recognises queries.
//
// What is accepted is what a router would accept: a whole message with a right checksum, of MLD one
// that has not been routed and comes from the link. A listener that wants some sources of a group
// alone is one of the group. Groups that no one has to report are left out: 224.0.0.1, ff02::1, and
// those of IPv6 that do not leave a node.
//
// Packets begin with their IP header. Pure functions; any thread. A report names at most as many
// groups as it has room for, of 8 bytes each and more.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ipoib/group_name.h"

namespace paravane::ipoib {

struct GroupNews {
  IpGroup group{};
  bool is_wanted = false;  // or it is no longer

  friend bool operator==(const GroupNews&, const GroupNews&) = default;
};

struct GroupMessage {
  enum class Kind : std::uint8_t {
    kNone,  // another packet
    kReport,
    kQuery,  // for all groups, of whatever asks the link for its listeners
    kBad,    // of IGMP or MLD, and not as it must be
  };
  Kind kind = Kind::kNone;
  std::vector<GroupNews> news{};  // with kReport
};

GroupMessage read_igmp(std::span<const std::byte> ipv4_packet);
GroupMessage read_mld(std::span<const std::byte> ipv6_packet);

}  // namespace paravane::ipoib
