#include "ipoib/broadcast_group.h"

#include "wire/infiniband/ip_over_infiniband.h"
#include "wire/infiniband/local_route.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::ipoib {

using wire::infiniband::Mtu;

std::expected<BroadcastGroup, BadGroup> read_broadcast_group(
    const wire::infiniband::MulticastMember& member, std::uint16_t partition, std::size_t most) {
  constexpr std::uint32_t kControlled = 0x8000'0000;  // 10.2.5
  if (!wire::infiniband::is_multicast_lid(member.lid.get())) return std::unexpected(BadGroup::kLid);
  if ((member.qkey.get() & kControlled) != 0) return std::unexpected(BadGroup::kQkey);
  const auto mtu = static_cast<Mtu>(member.mtu & wire::infiniband::kValueBits);
  // IPv6 needs 1280 (RFC 8200, section 5), and a link of 1024 has fewer.
  if (mtu != Mtu::k2048 && mtu != Mtu::k4096) return std::unexpected(BadGroup::kMtu);
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
      .mtu = wire::infiniband::bytes_of(mtu) - sizeof(wire::infiniband::EncapsulationHeader)};
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
