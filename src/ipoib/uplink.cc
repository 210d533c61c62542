#include "ipoib/uplink.h"

#include <algorithm>
#include <utility>

#include "wire/infiniband/local_route.h"
#include "wire/roce/headers.h"

namespace paravane::ipoib {

using subnet::QueuePairs;

Uplink::Uplink(subnet::HostAdapter& adapter, subnet::PortNumber port, const TurnClock& clock,
               FrameSink& sink)
    : adapter_(adapter),
      port_(port),
      clock_(clock),
      sink_(sink),
      client_(adapter, port, clock),
      paths_(client_, clock, *this),
      addresses_(adapter.queue_pairs(port), *this),
      link_addresses_(*adapter.port(port), addresses_, clock),
      multicast_(adapter, port, client_, clock, *this) {
  sent_.reserve(wire::infiniband::kMostPayloadBytes);
  delivered_.reserve(sizeof(wire::roce::EthernetHeader) + wire::infiniband::kMostPayloadBytes);
  adapter_.add_user(port_, *this);
}

Uplink::~Uplink() {
  adapter_.remove_user(port_, *this);
  for (const auto& [queue_pair, vlan] : listeners_) adapter_.queue_pairs(port_).destroy(queue_pair);
}

// ---- Partitions ----

bool Uplink::add_vlan(std::uint16_t vlan) {
  if (partitions_.contains(vlan)) return true;
  if (partitions_.size() >= kMostPartitions) return false;
  Membership::Listener& listener = *this;
  auto membership = std::make_unique<Membership>(adapter_, port_, client_, clock_, vlan, listener);
  partitions_[vlan].membership = std::move(membership);
  has_port_changed_ = true;
  go_on(vlan);
  return true;
}

void Uplink::remove_vlan(std::uint16_t vlan) {
  const auto found = partitions_.find(vlan);
  if (found == partitions_.end()) return;
  stop_listening(found->second);
  addresses_.forget(vlan);
  remotes_.forget(vlan);
  multicast_.forget(vlan);
  partitions_.erase(found);
}

void Uplink::on_membership(Membership& membership) {
  Partition& partition = partitions_.at(membership.vlan());
  stop_listening(partition);
  const BroadcastGroup* group = membership.group();
  if (group == nullptr) return multicast_.stop(membership.vlan());
  addresses_.change(membership.vlan(), {.partition = group->partition, .qkey = group->qkey});
  listen(partition, *group);
}

void Uplink::listen(Partition& partition, const BroadcastGroup& group) {
  stop_listening(partition);
  // Until all of it is there.
  partition.listens_at = clock_.now + kPause;
  QueuePairs& queue_pairs = adapter_.queue_pairs(port_);
  partition.listener = queue_pairs.make({.partition = group.partition, .qkey = group.qkey}, *this);
  const std::uint16_t vlan = partition.membership->vlan();
  if (!partition.listener) {
    multicast_.stop(vlan);
    return counters_.no_address_room.add();
  }
  listeners_[*partition.listener] = vlan;
  queue_pairs.attach(*partition.listener, {.lid = group.lid, .gid = group.gid});
  multicast_.start(vlan, group, *partition.listener);
  partition.listens_at = kNever;
}

void Uplink::stop_listening(Partition& partition) {
  partition.listens_at = kNever;
  if (!partition.listener) return;
  adapter_.queue_pairs(port_).destroy(*partition.listener);
  listeners_.erase(*std::exchange(partition.listener, std::nullopt));
}

std::vector<const Membership*> Uplink::memberships() const {
  std::vector<const Membership*> list;
  list.reserve(partitions_.size());
  for (const auto& [vlan, partition] : partitions_) list.push_back(partition.membership.get());
  return list;
}

// ---- From one engine to the next ----

UplinkImage Uplink::image() const {
  const subnet::Port& port = *adapter_.port(port_);
  UplinkImage image{.port_guid = port.guid(),
                    .lid = port.is_active() ? port.lid() : std::uint16_t{0}};
  for (const auto& [vlan, partition] : partitions_) {
    if (const BroadcastGroup* group = partition.membership->group(); group != nullptr)
      image.partitions.push_back({.vlan = vlan, .group = *group});
  }
  for (const AddressFacts& own : addresses_.all()) {
    if (!has_remote_mac({.number = own.queue_pair, .lid = 1})) continue;
    image.addresses.push_back({.mac = own.mac,
                               .vlan = own.vlan,
                               .queue_pair = own.queue_pair,
                               .silent = clock_.now - own.last_used,
                               .is_answered = own.is_answered});
  }
  for (const auto& [key, group] : multicast_.memberships().all_joined())
    image.groups.push_back({.vlan = key.vlan, .group = group});
  for (const auto& [listener, until] : multicast_.wanted().all())
    image.listeners.push_back({.listener = listener, .left = until - clock_.now});
  for (const auto& [key, path] : paths_.all_known())
    image.paths.push_back({.key = key, .path = path});
  for (const Counter* counter : counters_.set.all())
    image.counters.emplace_back(counter->name(), counter->value());
  return image;
}

bool Uplink::adopt(UplinkImage image) {
  const subnet::Port& port = *adapter_.port(port_);
  for (const auto& [name, value] : image.counters) counters_.set.go_on(name, value);
  if (image.port_guid != port.guid() || image.lid == 0 || !port.is_active() ||
      image.lid != port.lid())
    return false;
  for (const UplinkImage::KnownPath& known : image.paths) {
    if (port.has_lid(known.path.source)) paths_.adopt(known.key, known.path);
  }
  paths_lid_ = port.lid();
  inherited_ = std::move(image);
  inherited_until_ = clock_.now + kInheritance;
  return true;
}

std::vector<std::uint16_t> Uplink::inherited_vlans() const {
  std::vector<std::uint16_t> vlans;
  if (clock_.now >= inherited_until_) return vlans;
  for (const UplinkImage::Partition& one : inherited_.partitions) vlans.push_back(one.vlan);
  return vlans;
}

void Uplink::go_on(std::uint16_t vlan) {
  if (clock_.now >= inherited_until_ || paths_lid_ != adapter_.port(port_)->lid()) return;
  const auto joined = std::ranges::find(inherited_.partitions, vlan, &UplinkImage::Partition::vlan);
  if (joined == inherited_.partitions.end()) return;
  const BroadcastGroup group = joined->group;
  inherited_.partitions.erase(joined);
  Partition& partition = partitions_.at(vlan);
  if (!partition.membership->adopt(group)) return;
  for (const UplinkImage::Listener& one : inherited_.listeners) {
    if (one.listener.vlan == vlan) multicast_.adopt(one.listener, one.left);
  }
  for (const UplinkImage::Partition& one : inherited_.groups) {
    if (one.vlan == vlan) multicast_.adopt(vlan, one.group);
  }
  listen(partition, group);
  for (auto one = inherited_.addresses.rbegin(); one != inherited_.addresses.rend(); ++one) {
    if (one->vlan != vlan) continue;
    addresses_.adopt({.mac = one->mac,
                      .vlan = vlan,
                      .queue_pair = one->queue_pair,
                      .last_used = clock_.now - one->silent,
                      .is_answered = one->is_answered},
                     {.partition = group.partition, .qkey = group.qkey});
  }
}

// ---- Time ----

void Uplink::follow_port() {
  // What is interrupted without memory is begun again.
  if (has_port_changed_) {
    follow_lid();
    for (const auto& [vlan, partition] : partitions_) partition.membership->on_port_change();
    has_port_changed_ = false;
  }
  if (registers_again_) {
    paths_.ask_again();
    for (const auto& [vlan, partition] : partitions_) partition.membership->on_register_again();
    multicast_.register_again();
    registers_again_ = false;
  }
}

void Uplink::follow_lid() {
  const subnet::Port& port = *adapter_.port(port_);
  const std::uint16_t lid = port.is_active() ? port.lid() : 0;
  if (std::exchange(paths_lid_, lid) == lid) return;
  paths_.clear();
  remotes_.clear();
}

void Uplink::on_time(Instant now) {
  follow_port();
  for (auto& [vlan, partition] : partitions_) {
    partition.membership->on_time(now);
    const BroadcastGroup* group = partition.membership->group();
    if (now >= partition.listens_at && group != nullptr) listen(partition, *group);
  }
  multicast_.on_time(now);
}

Instant Uplink::next_deadline() const {
  if (has_port_changed_ || registers_again_) return clock_.now;
  Instant next = multicast_.next_deadline();
  for (const auto& [vlan, partition] : partitions_)
    next = std::min({next, partition.membership->next_deadline(), partition.listens_at});
  return next;
}

// ---- Teams ----

std::optional<Uplink::OfAddress> Uplink::give_up(const MacBytes& mac, std::uint16_t vlan) {
  const auto claims = addresses_.give_up(mac, vlan);
  if (!claims) return std::nullopt;
  return OfAddress{.claims = *claims, .groups = multicast_.give_up(vlan, mac)};
}

void Uplink::take_over(const MacBytes& mac, std::uint16_t vlan, const OfAddress& left) {
  for (const WantedGroups::Held& held : left.groups) multicast_.adopt(held.listener, held.left);
  for (const auto& address : left.claims.ipv4.all()) on_frame(vlan, claim_frame(mac, address));
  for (const auto& address : left.claims.ipv6.all()) on_frame(vlan, claim_frame(mac, address));
}

}  // namespace paravane::ipoib
