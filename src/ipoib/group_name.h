// GroupName: an IP multicast group as a subnet names it, without the partition: all groups of IP
// that a subnet does not tell apart have one name (RFC 4391, 4). IPv4's lowest 28 bits are in it,
// and IPv6's lowest 80.
//
// Plain values and pure functions; any thread.

#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "ipoib/ip_packet.h"
#include "wire/infiniband/ip_over_infiniband.h"

namespace paravane::ipoib {

// One for which is_group() is true.
using IpGroup = std::variant<wire::infiniband::Ipv4Address, wire::infiniband::Ipv6Address>;

inline constexpr wire::infiniband::Ipv4Address kAllHosts{224, 0, 0, 1};
inline constexpr wire::infiniband::Ipv6Address kAllNodes{0xFF, 2, 0, 0, 0, 0, 0, 0,
                                                         0,    0, 0, 0, 0, 0, 0, 1};

struct GroupName {
  std::uint16_t signature = 0;
  std::array<std::uint8_t, 10> low{};

  friend constexpr auto operator<=>(const GroupName&, const GroupName&) = default;
};

constexpr GroupName name_of(const IpGroup& group) {
  const wire::infiniband::Gid gid = std::visit(
      [](const auto& address) { return wire::infiniband::multicast_gid_of(address, 0); }, group);
  GroupName name{.signature = std::holds_alternative<wire::infiniband::Ipv4Address>(group)
                                  ? wire::infiniband::kIpv4Signature
                                  : wire::infiniband::kIpv6Signature};
  std::copy(gid.end() - name.low.size(), gid.end(), name.low.begin());
  return name;
}

// The group's GID in a partition, of which `partition` is a full or a limited member's key.
constexpr wire::infiniband::Gid gid_of(const GroupName& name, std::uint16_t partition) {
  wire::infiniband::Gid gid =
      wire::infiniband::group_prefix(name.signature, partition, wire::infiniband::kLinkLocalScope);
  std::ranges::copy(name.low, gid.end() - name.low.size());
  return gid;
}

// nullopt: `gid` is not a group of IP in that partition.
constexpr std::optional<GroupName> name_in(const wire::infiniband::Gid& gid,
                                           std::uint16_t partition) {
  GroupName name{.signature = static_cast<std::uint16_t>((gid[2] << 8) | gid[3])};
  std::copy(gid.end() - name.low.size(), gid.end(), name.low.begin());
  const bool is_of_ip = name.signature == wire::infiniband::kIpv4Signature ||
                        name.signature == wire::infiniband::kIpv6Signature;
  return is_of_ip && gid_of(name, partition) == gid ? std::optional(name) : std::nullopt;
}

// The group that a packet is for, by its header alone; nullopt: it is for one node, or for all.
std::optional<IpGroup> group_of(std::span<const std::byte> packet);

// ff02::1:ff00:0/104, by which IPv6 asks for the link address of a node (RFC 4291, 2.7.1).
constexpr bool asks_for_a_node(const GroupName& name) {
  constexpr std::array<std::uint8_t, 7> kPrefix{0, 0, 0, 0, 0, 1, 0xFF};
  return name.signature == wire::infiniband::kIpv6Signature &&
         std::ranges::equal(std::span(name.low).first(kPrefix.size()), kPrefix);
}

// 224.0.0.0/24, where protocols of the link speak: those that take part need not report it (RFC
// 4541, 2.1.2).
constexpr bool is_of_link(const IpGroup& group) {
  const auto* ipv4 = std::get_if<wire::infiniband::Ipv4Address>(&group);
  return ipv4 != nullptr && (*ipv4)[0] == 224 && (*ipv4)[1] == 0 && (*ipv4)[2] == 0;
}

}  // namespace paravane::ipoib
