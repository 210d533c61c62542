// Writes the queries of a link's listeners: IGMPv3 (RFC 3376, 4.1) and MLDv2 (RFC 3810, 5.1), which
// nodes of older versions understand, too. Each asks for all groups, or for one.
//
// The packets begin with their IP header. Pure functions; any thread.

#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/instant.h"
#include "ipoib/group_name.h"

namespace paravane::ipoib {

// The times of RFC 3376, 8, and RFC 3810, 9.
inline constexpr Duration kQueryInterval = std::chrono::seconds(125);
inline constexpr Duration kQueryResponse = std::chrono::seconds(10);  // within which nodes answer
inline constexpr Duration kLastResponse = std::chrono::seconds(1);    // to the query for one group
inline constexpr Duration kMembershipLife = 2 * kQueryInterval + kQueryResponse;
inline constexpr Duration kLastMemberTime = 2 * kLastResponse;
inline constexpr Duration kOtherQuerierLife = 2 * kQueryInterval + kQueryResponse / 2;

// From no address: it wins no election of a router that queries (RFC 4541, 2.1.1).
std::vector<std::byte> igmp_query(const std::optional<wire::infiniband::Ipv4Address>& group);
// `source`: an address of the link, without which no node answers.
std::vector<std::byte> mld_query(const wire::infiniband::Ipv6Address& source,
                                 const std::optional<wire::infiniband::Ipv6Address>& group);

}  // namespace paravane::ipoib
