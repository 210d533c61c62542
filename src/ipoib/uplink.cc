#include "ipoib/uplink.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ipoib/arp.h"
#include "ipoib/dhcp.h"
#include "ipoib/neighbour_discovery.h"
#include "ipoib/too_big.h"
#include "wire/infiniband/local_route.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::ipoib {

using subnet::QueuePairs;
using wire::infiniband::Datagram;
using wire::infiniband::DatagramHeaders;
using wire::infiniband::EncapsulationHeader;
using wire::infiniband::GlobalRoute;
using wire::infiniband::kEtherTypeArp;
using wire::infiniband::kEtherTypeRarp;
using wire::roce::kEtherTypeIpv4;
using wire::roce::kEtherTypeIpv6;

namespace {

constexpr std::size_t kEthernetHeaderBytes = 14;
constexpr std::size_t kMostFrame = kEthernetHeaderBytes + wire::infiniband::kMostPayloadBytes;
constexpr MacBytes kBroadcastMac = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

constexpr bool is_group_mac(const MacBytes& mac) {
  return (mac[0] & 1) != 0;
}

// Of full and of limited members.
constexpr bool is_same_partition(std::uint16_t one, std::uint16_t other) {
  return (one | wire::infiniband::kFullMember) == (other | wire::infiniband::kFullMember);
}

IpoibAddress address_with(std::uint32_t queue_pair, const wire::infiniband::Gid& gid) {
  return {.number = Be24(queue_pair), .gid = gid};
}

// The MAC of the group that an IP packet is for (RFC 1112, 6.4; RFC 2464, 7). One for a single
// node that came to all is for the one that knows it, as an answer of DHCP is.
MacBytes group_mac_of(std::span<const std::byte> packet) {
  const auto octet = [packet](std::size_t at) { return std::to_integer<std::uint8_t>(packet[at]); };
  constexpr std::size_t kIpv4Destination = 16;
  constexpr std::size_t kIpv6Destination = 24;
  const unsigned version = packet.empty() ? 0 : octet(0) >> 4;
  if (version == 4 && packet.size() >= kIpv4Destination + 4 && octet(kIpv4Destination) >> 4 == 0xE)
    return {0x01,
            0x00,
            0x5E,
            static_cast<std::uint8_t>(octet(kIpv4Destination + 1) & 0x7F),
            octet(kIpv4Destination + 2),
            octet(kIpv4Destination + 3)};
  if (version == 6 && packet.size() >= kIpv6Destination + 16 && octet(kIpv6Destination) == 0xFF)
    return {0x33,
            0x33,
            octet(kIpv6Destination + 12),
            octet(kIpv6Destination + 13),
            octet(kIpv6Destination + 14),
            octet(kIpv6Destination + 15)};
  return kBroadcastMac;
}

}  // namespace

Uplink::Uplink(subnet::HostAdapter& adapter, subnet::PortNumber port, const TurnClock& clock,
               FrameSink& sink)
    : adapter_(adapter),
      port_(port),
      clock_(clock),
      sink_(sink),
      client_(adapter, port, clock),
      paths_(client_, clock, *this),
      addresses_(adapter.queue_pairs(port), *this) {
  sent_.reserve(wire::infiniband::kMostPayloadBytes);
  delivered_.reserve(kMostFrame);
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
  return true;
}

void Uplink::remove_vlan(std::uint16_t vlan) {
  const auto found = partitions_.find(vlan);
  if (found == partitions_.end()) return;
  const std::uint16_t left = found->second.membership->partition();
  stop_listening(found->second);
  addresses_.forget(vlan);
  partitions_.erase(found);
  join_again(left);
}

void Uplink::join_again(std::uint16_t left) {
  if (left == 0 || !adapter_.port(port_)->is_active()) return;
  for (const auto& [vlan, partition] : partitions_) {
    if (is_same_partition(partition.membership->partition(), left))
      partition.membership->on_register_again();
  }
}

void Uplink::on_membership(Membership& membership) {
  Partition& partition = partitions_.at(membership.vlan());
  stop_listening(partition);
  const BroadcastGroup* group = membership.group();
  if (group == nullptr) return;
  addresses_.change(membership.vlan(), {.partition = group->partition, .qkey = group->qkey});
  listen(partition, *group);
}

void Uplink::listen(Partition& partition, const BroadcastGroup& group) {
  stop_listening(partition);
  // Until all of it is there.
  partition.listens_at = clock_.now + kPause;
  QueuePairs& queue_pairs = adapter_.queue_pairs(port_);
  partition.listener = queue_pairs.make({.partition = group.partition, .qkey = group.qkey}, *this);
  if (!partition.listener) return counters_.no_address_room.add();
  listeners_[*partition.listener] = partition.membership->vlan();
  queue_pairs.attach(*partition.listener, {.lid = group.lid, .gid = group.gid});
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
  for (const auto& [vlan, partition] : partitions_) list.push_back(partition.membership.get());
  return list;
}

// ---- Time ----

void Uplink::follow_port() {
  // What is interrupted without memory is begun again.
  if (has_port_changed_) {
    follow_lid();
    for (const auto& [vlan, partition] : partitions_) {
      const std::uint16_t before = partition.membership->partition();
      partition.membership->on_port_change();
      if (partition.membership->partition() != before) join_again(before);
    }
    has_port_changed_ = false;
  }
  if (registers_again_) {
    paths_.ask_again();
    for (const auto& [vlan, partition] : partitions_) partition.membership->on_register_again();
    registers_again_ = false;
  }
}

void Uplink::follow_lid() {
  const subnet::Port& port = *adapter_.port(port_);
  const std::uint16_t lid = port.is_active() ? port.lid() : 0;
  if (std::exchange(paths_lid_, lid) != lid) paths_.clear();
}

void Uplink::on_time(Instant now) {
  follow_port();
  for (auto& [vlan, partition] : partitions_) {
    partition.membership->on_time(now);
    const BroadcastGroup* group = partition.membership->group();
    if (now >= partition.listens_at && group != nullptr) listen(partition, *group);
  }
}

Instant Uplink::next_deadline() const {
  if (has_port_changed_ || registers_again_) return clock_.now;
  Instant next = kNever;
  for (const auto& [vlan, partition] : partitions_)
    next = std::min({next, partition.membership->next_deadline(), partition.listens_at});
  return next;
}

// ---- From VMs ----

void Uplink::on_frame(std::uint16_t vlan, std::span<const std::byte> bytes) {
  const auto frame = read_frame(bytes);
  if (!frame || frame->vlan) return counters_.bad_frames.add();
  const auto partition = partitions_.find(vlan);
  const BroadcastGroup* group =
      partition == partitions_.end() ? nullptr : partition->second.membership->group();
  if (group == nullptr) return counters_.no_partition.add();
  switch (frame->type) {
    case kEtherTypeIpv4:
    case kEtherTypeIpv6:
    case kEtherTypeArp:
    case kEtherTypeRarp: break;
    default: return counters_.other_protocols.add();
  }
  // A frame whose source is one of our addresses as others see it has come in a circle, through
  // another uplink.
  if (const auto source = remote_queue_pair(frame->source);
      source && source->lid == own_lid() && addresses_.find(source->number) != nullptr)
    return counters_.own_loops.add();
  const AddressFacts* own = addresses_.use(
      frame->source, vlan, {.partition = group->partition, .qkey = group->qkey}, clock_.now);
  if (own == nullptr) return counters_.no_address_room.add();
  const auto way = find_way(*group, *frame, vlan, bytes);
  if (!way) return;
  if (frame->payload.size() > way->mtu) {
    counters_.too_big.add();
    return refuse_size(vlan, *frame, way->mtu);
  }
  switch (frame->type) {
    case kEtherTypeIpv4: return send(*group, *own, frame->type, frame->payload, *way, bytes.size());
    case kEtherTypeIpv6: return send_ipv6(*group, *own, *frame, *way);
    default: return send_arp(*group, *own, *frame, *way);
  }
}

std::optional<Uplink::Way> Uplink::find_way(const BroadcastGroup& group, const EthernetFrame& frame,
                                            std::uint16_t vlan, std::span<const std::byte> bytes) {
  const Way to_group{.is_group = true, .mtu = group.mtu};
  if (is_group_mac(frame.destination)) return to_group;
  const auto to = remote_queue_pair(frame.destination);
  // A MAC of the same kind may be a VM's here, which the frame has passed.
  if (!to || is_vm(frame.destination, vlan)) {
    // A server has the client's MAC from the packet itself; it is on no wire here.
    if (frame.type == kEtherTypeIpv4 && is_dhcp_answer(frame.payload)) return to_group;
    counters_.unknown_destinations.add();
    return std::nullopt;
  }
  // What is at this port is a VM here.
  if (adapter_.port(port_)->has_lid(to->lid)) {
    counters_.own_loops.add();
    return std::nullopt;
  }
  const auto path = paths_.find({.partition = group.partition, .lid = to->lid}, vlan, bytes);
  if (path)
    return Way{.mtu = std::min(group.mtu, path->mtu - sizeof(EncapsulationHeader)),
               .to = *to,
               .path = *path};
  switch (path.error()) {
    case Paths::Miss::kWaits: break;
    case Paths::Miss::kNoRoom: counters_.no_path_room.add(); break;
    case Paths::Miss::kUnreachable: counters_.no_path.add(); break;
  }
  return std::nullopt;
}

void Uplink::on_path(std::vector<Paths::WaitingFrame> frames) {
  for (const Paths::WaitingFrame& frame : frames) on_frame(frame.vlan, frame.bytes);
}

IpoibAddress Uplink::address_of(const AddressFacts& own) const {
  return address_with(own.queue_pair, client_.own_gid());
}

void Uplink::send_arp(const BroadcastGroup& group, const AddressFacts& own,
                      const EthernetFrame& frame, const Way& way) {
  const auto arp = read_ethernet_arp(frame.payload);
  // A frame says which address it comes from, and must mean it.
  if (!arp || arp->sender != own.mac || type_of(arp->operation) != frame.type)
    return counters_.bad_arp.add();
  std::optional<IpoibAddress> target;
  if (!way.is_group) target = address_with(way.to.number, way.path.gid);
  const auto packet = infiniband_arp(to_infiniband(*arp, address_of(own), target));
  send(group, own, frame.type, packet, way, kEthernetHeaderBytes + frame.payload.size());
}

void Uplink::send_ipv6(const BroadcastGroup& group, const AddressFacts& own,
                       const EthernetFrame& frame, const Way& way) {
  const std::size_t frame_bytes = kEthernetHeaderBytes + frame.payload.size();
  switch (discovery_kind(frame.payload)) {
    case DiscoveryKind::kNone: return send(group, own, frame.type, frame.payload, way, frame_bytes);
    case DiscoveryKind::kHidden: return counters_.bad_neighbours.add();
    case DiscoveryKind::kPlain: break;
  }
  const auto address = [&](const MacBytes& mac) -> std::optional<IpoibAddress> {
    if (mac == own.mac) return address_of(own);
    // In a redirect: another node of the subnet.
    const auto other = remote_queue_pair(mac);
    if (!other) return std::nullopt;
    const Path* path = paths_.known({.partition = group.partition, .lid = other->lid});
    if (path == nullptr) return std::nullopt;
    return address_with(other->number, path->gid);
  };
  const auto packet = discovery_to_infiniband(frame.payload, address);
  if (!packet || packet->size() > way.mtu) return counters_.bad_neighbours.add();
  send(group, own, frame.type, *packet, way, frame_bytes);
}

void Uplink::send(const BroadcastGroup& group, const AddressFacts& own, std::uint16_t type,
                  std::span<const std::byte> packet, const Way& way, std::size_t frame_bytes) {
  EncapsulationHeader header;
  header.type.set(type);
  sent_.resize(sizeof header + packet.size());
  std::memcpy(sent_.data(), &header, sizeof header);
  std::ranges::copy(packet, sent_.begin() + sizeof header);
  DatagramHeaders headers{
      .partition = group.partition, .qkey = group.qkey, .source_qp = own.queue_pair};
  if (way.is_group) {
    headers.destination = group.lid;
    headers.destination_qp = wire::infiniband::kMulticastQueuePair;
    headers.service_level = group.level;
    headers.global = GlobalRoute{.destination = group.gid,
                                 .flow_label = group.flow_label,
                                 .traffic_class = group.traffic_class,
                                 .hop_limit = group.hop_limit};
  } else {
    headers.destination = way.to.lid;
    headers.destination_qp = way.to.number;
    headers.service_level = way.path.level;
  }
  if (!adapter_.send(port_, headers, sent_)) return counters_.not_sent.add();
  counters_.frames_sent.add();
  counters_.bytes_sent.add(frame_bytes);
}

void Uplink::refuse_size(std::uint16_t vlan, const EthernetFrame& frame, std::size_t mtu) {
  if (is_group_mac(frame.destination)) return;
  const auto answer = frame.type == kEtherTypeIpv4
                          ? fragmentation_needed(frame.payload, static_cast<std::uint16_t>(mtu))
                      : frame.type == kEtherTypeIpv6
                          ? packet_too_big(frame.payload, static_cast<std::uint32_t>(mtu))
                          : std::nullopt;
  if (!answer) return;
  write_frame({.destination = frame.source,
               .source = frame.destination,
               .type = frame.type,
               .payload = *answer},
              delivered_);
  sink_.deliver(vlan, delivered_);
}

// ---- To VMs ----

std::optional<MacBytes> Uplink::mac_of(std::uint16_t vlan, const RemoteQueuePair& remote) const {
  const auto mac = remote_mac(remote);
  if (mac && is_vm(*mac, vlan)) return std::nullopt;
  return mac;
}

bool Uplink::is_vm(const MacBytes& mac, std::uint16_t vlan) const {
  const AddressFacts* own = addresses_.find(mac, vlan);
  return own != nullptr && clock_.now - own->last_used < OwnAddresses::kIdle;
}

MacBytes Uplink::mac_for(const Arrival& arrival, std::span<const std::byte> packet) {
  return arrival.own != nullptr ? arrival.own->mac : group_mac_of(packet);
}

void Uplink::on_datagram(std::uint32_t queue_pair, const Datagram& packet) {
  const DatagramHeaders& headers = packet.headers;
  Arrival arrival{.from = {.number = headers.source_qp, .lid = headers.source},
                  .headers = &headers};
  if (headers.source == own_lid() && addresses_.find(headers.source_qp) != nullptr)
    return counters_.own_loops.add();
  if (const auto listener = listeners_.find(queue_pair); listener != listeners_.end()) {
    // To this queue pair itself nothing is sent: it is no one's address.
    if (headers.destination_qp != wire::infiniband::kMulticastQueuePair)
      return counters_.bad_packets.add();
    arrival.vlan = listener->second;
  } else {
    arrival.own = addresses_.find(queue_pair);
    if (arrival.own == nullptr) return counters_.bad_packets.add();
    arrival.vlan = arrival.own->vlan;
  }
  const BroadcastGroup* group = partitions_.at(arrival.vlan).membership->group();
  const bool is_right = group != nullptr && mac_of(arrival.vlan, arrival.from) &&
                        packet.payload.size() > sizeof(EncapsulationHeader) &&
                        packet.payload.size() - sizeof(EncapsulationHeader) <= group->mtu;
  if (!is_right) return counters_.bad_packets.add();
  arrival.partition = group->partition;
  EncapsulationHeader header;
  std::memcpy(&header, packet.payload.data(), sizeof header);
  const auto body = packet.payload.subspan(sizeof header);
  switch (header.type.get()) {
    case kEtherTypeIpv4: return deliver(arrival, mac_for(arrival, body), kEtherTypeIpv4, body);
    case kEtherTypeIpv6: return take_ipv6(arrival, body);
    case kEtherTypeArp:
    case kEtherTypeRarp: return take_arp(arrival, header.type.get(), body);
    default: return counters_.bad_packets.add();
  }
}

std::optional<MacBytes> Uplink::mac_of_sender(const Arrival& arrival, const IpoibAddress& address) {
  // The GID of the sender's port is in a packet to a group; in others the path has it.
  if (arrival.headers->global && arrival.headers->global->source != address.gid)
    return std::nullopt;
  paths_.compare({.partition = arrival.partition, .lid = arrival.from.lid}, address.gid);
  return mac_of(arrival.vlan, {.number = address.queue_pair(), .lid = arrival.from.lid});
}

const OwnAddresses::Address* Uplink::own_at(std::uint16_t vlan, const IpoibAddress& address) const {
  const AddressFacts* own = addresses_.find(address.queue_pair());
  return own != nullptr && own->vlan == vlan && address.gid == client_.own_gid() ? own : nullptr;
}

void Uplink::take_arp(const Arrival& arrival, std::uint16_t type,
                      std::span<const std::byte> packet) {
  const auto arp = read_infiniband_arp(packet);
  if (!arp || type_of(arp->operation) != type) return counters_.bad_arp.add();
  const auto sender = mac_of_sender(arrival, arp->sender);
  if (!sender) return counters_.bad_arp.add();
  const AddressFacts* target =
      arrival.own != nullptr ? arrival.own : own_at(arrival.vlan, arp->target);
  const auto ethernet =
      ethernet_arp(to_ethernet(*arp, *sender, target == nullptr ? MacBytes{} : target->mac));
  deliver(arrival, arrival.own != nullptr ? arrival.own->mac : kBroadcastMac, type, ethernet);
}

void Uplink::take_ipv6(const Arrival& arrival, std::span<const std::byte> packet) {
  switch (discovery_kind(packet)) {
    case DiscoveryKind::kNone:
      return deliver(arrival, mac_for(arrival, packet), kEtherTypeIpv6, packet);
    case DiscoveryKind::kHidden: return counters_.bad_neighbours.add();
    case DiscoveryKind::kPlain: break;
  }
  const auto mac = [&](const IpoibAddress& address) -> std::optional<MacBytes> {
    if (address.queue_pair() == arrival.from.number) return mac_of_sender(arrival, address);
    const AddressFacts* own = own_at(arrival.vlan, address);
    if (own == nullptr) return std::nullopt;
    return own->mac;
  };
  const auto ethernet = discovery_to_ethernet(packet, mac);
  if (!ethernet) return counters_.bad_neighbours.add();
  deliver(arrival, mac_for(arrival, *ethernet), kEtherTypeIpv6, *ethernet);
}

void Uplink::deliver(const Arrival& arrival, const MacBytes& destination, std::uint16_t type,
                     std::span<const std::byte> packet) {
  write_frame({.destination = destination,
               .source = *remote_mac(arrival.from),
               .type = type,
               .payload = packet},
              delivered_);
  counters_.frames_received.add();
  counters_.bytes_received.add(delivered_.size());
  sink_.deliver(arrival.vlan, delivered_);
}

}  // namespace paravane::ipoib
