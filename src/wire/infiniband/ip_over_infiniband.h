// Defines what IP over InfiniBand has besides IP (RFC 4391, RFC 4755): the header before a packet,
// the link-layer address of an interface, and the groups of a partition.
//
// Numbers are in the byte order of the wire, lengths in bytes. Plain values and pure functions; any
// thread.

#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "base/wire_int.h"
#include "wire/infiniband/datagram.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::wire::infiniband {

// ---- Packets (RFC 4391, 6) ----

// Before the packet in each datagram. The type is one of Ethernet; IPv4, IPv6, ARP and RARP are
// allowed.
struct EncapsulationHeader {
  Be16 type;
  Be16 reserved;  // 0; not looked at
};
static_assert(sizeof(EncapsulationHeader) == 4);

inline constexpr std::uint16_t kEtherTypeArp = 0x0806;
inline constexpr std::uint16_t kEtherTypeRarp = 0x8035;

// Of an IP packet on a link whose MTU is the greatest (7). One of less has less.
inline constexpr std::size_t kMostIpBytes = kMostPayloadBytes - sizeof(EncapsulationHeader);

// ---- Link-layer addresses (RFC 4391, 9.1.1) ----

inline constexpr std::uint16_t kInfinibandHardware = 32;  // in ARP

struct IpoibAddress {
  std::uint8_t flags = 0;  // which connections are accepted (RFC 4755, 3.1); reserved of datagrams
  Be24 number;
  Gid gid{};

  constexpr std::uint32_t queue_pair() const { return number.get(); }

  friend constexpr bool operator==(const IpoibAddress&, const IpoibAddress&) = default;
};
static_assert(sizeof(IpoibAddress) == 20 && alignof(IpoibAddress) == 1);

inline constexpr std::uint8_t kReliableConnections = 0x80;
inline constexpr std::uint8_t kUnreliableConnections = 0x40;

// Whether it can be that of an interface: a queue pair for data, and a GID of one port.
constexpr bool is_of_interface(const IpoibAddress& address) {
  const std::uint32_t number = address.queue_pair();
  return number > kServiceQueuePair && number < kMulticastQueuePair && address.gid[0] != 0xFF &&
         address.gid != Gid{};
}

// ---- Groups (RFC 4391, 4) ----

using Ipv4Address = std::array<std::uint8_t, 4>;
using Ipv6Address = std::array<std::uint8_t, 16>;

inline constexpr std::uint8_t kLinkLocalScope = 2;
inline constexpr std::uint16_t kIpv4Signature = 0x401B;
inline constexpr std::uint16_t kIpv6Signature = 0x601B;

constexpr bool is_group(const Ipv4Address& address) {
  return address[0] >> 4 == 0xE;
}
constexpr bool is_group(const Ipv6Address& address) {
  return address[0] == 0xFF;
}

// The beginning of a group's GID, with zeros behind it. All members of a partition, limited ones
// too, name it with the full member's P_Key. `scope`: 4 bits.
constexpr Gid group_prefix(std::uint16_t signature, std::uint16_t partition, std::uint8_t scope) {
  const auto key = static_cast<std::uint16_t>(partition | kFullMember);
  return {0xFF,
          static_cast<std::uint8_t>(0x10 | scope),
          static_cast<std::uint8_t>(signature >> 8),
          static_cast<std::uint8_t>(signature),
          static_cast<std::uint8_t>(key >> 8),
          static_cast<std::uint8_t>(key)};
}

// The group that is the link: all its interfaces are members.
constexpr Gid broadcast_gid(std::uint16_t partition, std::uint8_t scope = kLinkLocalScope) {
  Gid gid = group_prefix(kIpv4Signature, partition, scope);
  std::fill(gid.end() - 4, gid.end(), std::uint8_t{0xFF});
  return gid;
}

// The lowest 28 bits of an IPv4 group. REQUIRES: is_group(group).
constexpr Gid multicast_gid_of(const Ipv4Address& group, std::uint16_t partition,
                               std::uint8_t scope = kLinkLocalScope) {
  assert(is_group(group));
  Gid gid = group_prefix(kIpv4Signature, partition, scope);
  std::ranges::copy(group, gid.end() - 4);
  gid[12] &= 0x0F;
  return gid;
}

// The lowest 80 bits of an IPv6 group. REQUIRES: is_group(group).
constexpr Gid multicast_gid_of(const Ipv6Address& group, std::uint16_t partition,
                               std::uint8_t scope = kLinkLocalScope) {
  assert(is_group(group));
  Gid gid = group_prefix(kIpv6Signature, partition, scope);
  std::copy(group.begin() + 6, group.end(), gid.begin() + 6);
  return gid;
}

}  // namespace paravane::wire::infiniband
