#include "ipoib/multicast.h"

#include <algorithm>
#include <array>

#include "ipoib/group_query.h"

namespace paravane::ipoib {

using wire::infiniband::Ipv4Address;
using wire::infiniband::Ipv6Address;
using wire::roce::kEtherTypeIpv4;
using wire::roce::kEtherTypeIpv6;

namespace {

// Which no node reports.
constexpr std::array<GroupName, 2> kJoinedByAll = {name_of(kAllHosts), name_of(kAllNodes)};

constexpr bool is_joined_by_all(const GroupName& name) {
  return std::ranges::find(kJoinedByAll, name) != kJoinedByAll.end();
}

// To which each node sends: reports of groups, solicitations of routers.
constexpr bool is_for_routers(const IpGroup& group) {
  constexpr std::array<Ipv4Address, 2> kOfIpv4 = {{{224, 0, 0, 2}, {224, 0, 0, 22}}};
  constexpr std::array<Ipv6Address, 2> kOfIpv6 = {
      {{0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2},
       {0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x16}}};
  if (const auto* ipv4 = std::get_if<Ipv4Address>(&group))
    return std::ranges::find(kOfIpv4, *ipv4) != kOfIpv4.end();
  return std::ranges::find(kOfIpv6, std::get<Ipv6Address>(group)) != kOfIpv6.end();
}

// To which nodes send that do not listen to them: queries, and what is for routers.
constexpr bool is_of_reports(const IpGroup& group) {
  const auto* ipv4 = std::get_if<Ipv4Address>(&group);
  return ipv4 != nullptr && (*ipv4 == kAllHosts || is_for_routers(group));
}

}  // namespace

// ---- Partitions ----

void Multicast::start(std::uint16_t vlan, const BroadcastGroup& broadcast,
                      std::uint32_t queue_pair) {
  if (const auto found = partitions_.find(vlan);
      found != partitions_.end() && found->second.broadcast != broadcast)
    stop(vlan);
  partitions_.try_emplace(vlan, Partition{.broadcast = broadcast, .asks_at = clock_.now});
  for (const GroupName& name : kJoinedByAll) memberships_.add({.vlan = vlan, .name = name});
  memberships_.start(vlan, broadcast, queue_pair);
}

void Multicast::stop(std::uint16_t vlan) {
  memberships_.stop(vlan);
  const auto found = partitions_.find(vlan);
  if (found == partitions_.end()) return;
  senders_.forget(found->second.broadcast);
  partitions_.erase(found);
}

void Multicast::forget(std::uint16_t vlan) {
  stop(vlan);
  wanted_.forget(vlan);
  memberships_.forget(vlan);
}

void Multicast::adopt(std::uint16_t vlan, const BroadcastGroup& joined) {
  const auto name = name_in(joined.gid, joined.partition);
  if (!name) return;
  const VlanGroup key{.vlan = vlan, .name = *name};
  if (is_joined_by_all(*name) || wanted_.contains(key)) memberships_.adopt(key, joined);
}

void Multicast::adopt(const WantedGroups::Listener& listener, Duration left) {
  if (is_joined_by_all(listener.group)) return;
  if (wanted_.want_until(listener, clock_.now + left) != WantedGroups::Verdict::kNoRoom)
    memberships_.add({.vlan = listener.vlan, .name = listener.group});
}

void Multicast::register_again() {
  memberships_.register_again();
  senders_.ask_again();
}

// ---- What VMs say ----

Multicast::Seen Multicast::see(std::uint16_t vlan, const EthernetFrame& frame) {
  if (frame.type == kEtherTypeIpv6) return take(vlan, frame.source, read_mld(frame.payload));
  if (frame.type != kEtherTypeIpv4) return Seen::kFine;
  const GroupMessage message = read_igmp(frame.payload);
  // A query of IGMP changes nothing: ours are from no address, and yield to no other querier.
  if (message.kind == GroupMessage::Kind::kQuery) return Seen::kFine;
  if (message.kind != GroupMessage::Kind::kNone) return take(vlan, frame.source, message);
  Seen seen = Seen::kFine;
  if (const auto group = group_of(frame.payload);
      group && is_of_link(*group) && !is_of_reports(*group))
    want(vlan, frame.source, *group, seen);
  return seen;
}

Multicast::Seen Multicast::take(std::uint16_t vlan, const MacBytes& mac,
                                const GroupMessage& message) {
  Seen seen = Seen::kFine;
  switch (message.kind) {
    case GroupMessage::Kind::kNone: break;
    case GroupMessage::Kind::kBad: return Seen::kBadReport;
    case GroupMessage::Kind::kQuery:
      if (const auto found = partitions_.find(vlan); found != partitions_.end())
        found->second.is_asked_until = clock_.now + kOtherQuerierLife;
      break;
    case GroupMessage::Kind::kReport:
      for (const GroupNews& news : message.news) {
        if (news.is_wanted)
          want(vlan, mac, news.group, seen);
        else if (wanted_.leave({.vlan = vlan, .mac = mac, .group = name_of(news.group)},
                               clock_.now))
          ask_for(vlan, news.group);
      }
      break;
  }
  return seen;
}

void Multicast::want(std::uint16_t vlan, const MacBytes& mac, const IpGroup& group, Seen& seen) {
  const VlanGroup key{.vlan = vlan, .name = name_of(group)};
  // An address that a subnet does not tell from ff02::1.
  if (is_joined_by_all(key.name)) return;
  const auto verdict = wanted_.want({.vlan = vlan, .mac = mac, .group = key.name}, clock_.now);
  if (verdict == WantedGroups::Verdict::kNoRoom)
    seen = Seen::kNoRoom;
  else
    memberships_.add(key);  // also one that was interrupted here without memory
}

void Multicast::hear(std::uint16_t vlan, std::span<const std::byte> packet) {
  const GroupMessage message = read_mld(packet);
  // What others report is no wish of a VM here.
  if (message.kind == GroupMessage::Kind::kQuery) take(vlan, {}, message);
}

// What is for routers alone has a group where there are routers; these hear the broadcast group,
// too. Each host sends such packets, and a manager logs each question for a group that is not
// there.
const BroadcastGroup& Multicast::group_for(std::uint16_t vlan, std::span<const std::byte> packet,
                                           const BroadcastGroup& broadcast) {
  const auto group = group_of(packet);
  if (!group || is_for_routers(*group)) return broadcast;
  const GroupName name = name_of(*group);
  const BroadcastGroup* known = memberships_.find({.vlan = vlan, .name = name});
  if (known == nullptr) known = senders_.find(name, broadcast);
  return known == nullptr ? broadcast : *known;
}

// ---- Teams ----

std::vector<WantedGroups::Held> Multicast::give_up(std::uint16_t vlan, const MacBytes& mac) {
  return wanted_.give_up(vlan, mac, clock_.now);
}

// ---- Queries ----

Ipv6Address Multicast::own_address() const {
  Ipv6Address address = client_.own_gid();
  constexpr std::array<std::uint8_t, 8> kLinkLocal{0xFE, 0x80};
  std::ranges::copy(kLinkLocal, address.begin());
  return address;
}

void Multicast::ask_for_all(std::uint16_t vlan, Partition& partition) {
  partition.asks_at =
      clock_.now + (partition.is_first ? kQueryInterval / 4 : Duration(kQueryInterval));
  partition.is_first = false;
  listener_.on_query(vlan, kEtherTypeIpv4, igmp_query(std::nullopt));
  if (!is_asked_by_other(partition))
    listener_.on_query(vlan, kEtherTypeIpv6, mld_query(own_address(), std::nullopt));
}

void Multicast::ask_for(std::uint16_t vlan, const IpGroup& group) {
  if (const auto* ipv4 = std::get_if<Ipv4Address>(&group))
    return listener_.on_query(vlan, kEtherTypeIpv4, igmp_query(*ipv4));
  listener_.on_query(vlan, kEtherTypeIpv6, mld_query(own_address(), std::get<Ipv6Address>(group)));
}

// ---- Time ----

void Multicast::on_time(Instant now) {
  for (auto& [vlan, partition] : partitions_) {
    if (now >= partition.asks_at) ask_for_all(vlan, partition);
  }
  for (const VlanGroup& group : wanted_.expire(now)) memberships_.remove(group);
  memberships_.on_time(now);
  senders_.on_time(now);
}

Instant Multicast::next_deadline() const {
  Instant next =
      std::min({wanted_.next_deadline(), memberships_.next_deadline(), senders_.next_deadline()});
  for (const auto& [vlan, partition] : partitions_) next = std::min(next, partition.asks_at);
  return next;
}

}  // namespace paravane::ipoib
