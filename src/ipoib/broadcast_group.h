// BroadcastGroup: what subnet administration says of a partition's broadcast group, which every IP
// interface of the partition joins first (RFC 4391, section 5). Its Q_Key, service level and MTU
// hold for the whole partition.
//
// A group of IP multicast in the partition is of the same kind, and like it (group_memberships.h).
//
// A plain value.

#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

#include "wire/infiniband/datagram.h"
#include "wire/infiniband/subnet_administration.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::ipoib {

struct BroadcastGroup {
  wire::infiniband::Gid gid{};
  std::uint16_t lid = 0;
  std::uint16_t partition = 0;  // the key that packets carry
  std::uint32_t qkey = 0;
  std::uint8_t level = 0;
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;
  std::uint8_t hop_limit = 0;
  std::size_t mtu = 0;  // of an IP packet, in bytes: the link's without the encapsulation
  // As the protocol has them, for groups that are made like this one.
  std::uint8_t mtu_code = 0;
  std::uint8_t rate_code = 0;

  friend bool operator==(const BroadcastGroup&, const BroadcastGroup&) = default;
};

enum class BadGroup : std::uint8_t {
  kLid,   // not a multicast LID
  kQkey,  // a controlled one, with which a member could speak to the services of other nodes
  kMtu,   // of no IP network, or above `most`
};

// `partition`: the key of the port's table. `most`: of the port's link, in bytes.
std::expected<BroadcastGroup, BadGroup> read_broadcast_group(
    const wire::infiniband::MulticastMember& member, std::uint16_t partition, std::size_t most);
std::string_view words_of(BadGroup bad);

// A group of IP multicast in the partition of `broadcast`; nullopt: those that hear the broadcast
// group would not hear all of it, since its Q_Key or MTU is another, or it is impossible.
std::optional<BroadcastGroup> read_group_like(const wire::infiniband::MulticastMember& member,
                                              const BroadcastGroup& broadcast);

// Whether a member with this Q_Key could speak to the services of other nodes (10.2.5).
constexpr bool is_controlled_qkey(std::uint32_t qkey) {
  return (qkey & 0x8000'0000) != 0;
}

// By which all members, limited ones too, name the partition's groups.
constexpr std::uint16_t full_key_of(const BroadcastGroup& group) {
  return static_cast<std::uint16_t>(group.partition | wire::infiniband::kFullMember);
}

}  // namespace paravane::ipoib
