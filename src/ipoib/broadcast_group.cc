#include "ipoib/broadcast_group.h"

#include "ipoib/link_mtu.h"
#include "wire/infiniband/local_route.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::ipoib {

using wire::infiniband::Mtu;

std::expected<BroadcastGroup, BadGroup> read_broadcast_group(
    const wire::infiniband::MulticastMember& member, std::uint16_t partition, std::size_t most) {
  if (!wire::infiniband::is_multicast_lid(member.lid.get())) return std::unexpected(BadGroup::kLid);
  if (is_controlled_qkey(member.qkey.get())) return std::unexpected(BadGroup::kQkey);
  const auto mtu = static_cast<Mtu>(member.mtu & wire::infiniband::kValueBits);
  if (!carries_ip(mtu)) return std::unexpected(BadGroup::kMtu);
  if (wire::infiniband::bytes_of(mtu) > most) return std::unexpected(BadGroup::kMtu);
  return BroadcastGroup{
      .gid = member.group,
      .lid = member.lid.get(),
      .partition = partition,
      .qkey = member.qkey.get(),
      .level = member.level(),
      .traffic_class = member.traffic_class,
      .flow_label = member.flow_label(),
      .hop_limit = member.hop_limit(),
      .mtu = ip_mtu_of(wire::infiniband::bytes_of(mtu)),
      .mtu_code = static_cast<std::uint8_t>(mtu),
      .rate_code = static_cast<std::uint8_t>(member.rate & wire::infiniband::kValueBits)};
}

std::optional<BroadcastGroup> read_group_like(const wire::infiniband::MulticastMember& member,
                                              const BroadcastGroup& broadcast) {
  const auto group = read_broadcast_group(member, broadcast.partition, link_mtu_of(broadcast.mtu));
  if (!group || group->qkey != broadcast.qkey || group->mtu != broadcast.mtu) return std::nullopt;
  return *group;
}

std::string_view words_of(BadGroup bad) {
  switch (bad) {
    case BadGroup::kLid: return "its broadcast group has no multicast LID";
    case BadGroup::kQkey: return "its broadcast group has a controlled Q_Key";
    case BadGroup::kMtu:
      return "its broadcast group has an MTU other than 2048 and 4096, or above this port's";
  }
  return "";
}

}  // namespace paravane::ipoib
