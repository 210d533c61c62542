// Frames of VMs at an Uplink: what may pass, where it goes, and the datagram that it becomes.

#include <algorithm>
#include <cstring>

#include "ipoib/arp.h"
#include "ipoib/dhcp.h"
#include "ipoib/group_mac.h"
#include "ipoib/link_mtu.h"
#include "ipoib/neighbour_discovery.h"
#include "ipoib/too_big.h"
#include "ipoib/uplink.h"
#include "wire/roce/headers.h"

namespace paravane::ipoib {

using wire::infiniband::DatagramHeaders;
using wire::infiniband::EncapsulationHeader;
using wire::infiniband::GlobalRoute;
using wire::infiniband::kEtherTypeArp;
using wire::infiniband::kEtherTypeRarp;
using wire::roce::EthernetHeader;
using wire::roce::kEtherTypeIpv4;
using wire::roce::kEtherTypeIpv6;

void Uplink::on_frame(std::uint16_t vlan, std::span<const std::byte> bytes) {
  const auto frame = read_frame(bytes);
  if (!frame || frame->vlan) return counters_.bad_frames.add();
  const MacBytes source = frame->source;
  const std::uint64_t made = addresses_.made();
  take_frame(vlan, *frame, bytes);
  if (addresses_.made() != made) sink_.on_new_address(source, vlan);
}

void Uplink::take_frame(std::uint16_t vlan, const EthernetFrame& frame,
                        std::span<const std::byte> bytes) {
  const auto partition = partitions_.find(vlan);
  const BroadcastGroup* group =
      partition == partitions_.end() ? nullptr : partition->second.membership->group();
  if (group == nullptr) return counters_.no_partition.add();
  switch (frame.type) {
    case kEtherTypeIpv4:
    case kEtherTypeIpv6:
    case kEtherTypeArp:
    case kEtherTypeRarp: break;
    default: return counters_.other_protocols.add();
  }
  // A frame whose source is one of our addresses as others see it has come in a circle, through
  // another uplink.
  if (const auto source = remote_queue_pair(frame.source)) {
    if (link_addresses_.is_own(*source)) return counters_.own_loops.add();
    // It would hide that node from this side.
    if (remotes_.knows(vlan, *source, clock_.now) && !link_addresses_.is_vm(frame.source, vlan))
      return counters_.taken_macs.add();
  }
  const AddressFacts* own = addresses_.use(
      frame.source, vlan, {.partition = group->partition, .qkey = group->qkey}, clock_.now);
  if (own == nullptr) return counters_.no_address_room.add();
  if (is_group_mac(frame.destination)) {
    switch (multicast_.see(vlan, frame)) {
      case Multicast::Seen::kFine: break;
      case Multicast::Seen::kBadReport: counters_.bad_reports.add(); break;
      case Multicast::Seen::kNoRoom: counters_.no_group_room.add(); break;
    }
  }
  const auto way = find_way(*group, frame, vlan, bytes);
  if (!way) return;
  if (frame.payload.size() > way->mtu) {
    counters_.too_big.add();
    return refuse_size(vlan, frame, way->mtu);
  }
  switch (frame.type) {
    case kEtherTypeIpv4: return send(*group, *own, frame.type, frame.payload, *way, bytes.size());
    case kEtherTypeIpv6: return send_ipv6(*group, *own, frame, *way);
    default: return send_arp(*group, *own, frame, *way);
  }
}

std::optional<Uplink::Way> Uplink::find_way(const BroadcastGroup& group, const EthernetFrame& frame,
                                            std::uint16_t vlan, std::span<const std::byte> bytes) {
  const Way to_all{.group = &group, .mtu = group.mtu};
  if (frame.destination == kBroadcastMac) return to_all;
  if (is_group_mac(frame.destination)) {
    // What is not IP has no group of its own.
    const bool is_ip = frame.type == kEtherTypeIpv4 || frame.type == kEtherTypeIpv6;
    if (!is_ip) return to_all;
    return Way{.group = &multicast_.group_for(vlan, frame.payload, group), .mtu = group.mtu};
  }
  const auto to = remote_queue_pair(frame.destination);
  // A MAC of the same kind may be a VM's here, which the frame has passed.
  if (!to || link_addresses_.is_vm(frame.destination, vlan)) {
    // A server has the client's MAC from the packet itself; it is on no wire here.
    if (frame.type == kEtherTypeIpv4 && is_dhcp_answer(frame.payload)) return to_all;
    counters_.unknown_destinations.add();
    return std::nullopt;
  }
  // What is at this uplink is a VM here.
  if (link_addresses_.is_own(*to)) {
    counters_.own_loops.add();
    return std::nullopt;
  }
  if (const auto within = path_within(group, to->lid))
    return Way{.mtu = group.mtu, .to = *to, .path = *within};
  const auto path = paths_.find({.partition = group.partition, .lid = to->lid}, vlan, bytes,
                                remotes_.knows(vlan, to->lid, clock_.now));
  if (path) return Way{.mtu = std::min(group.mtu, ip_mtu_of(path->mtu)), .to = *to, .path = *path};
  switch (path.error()) {
    case Paths::Miss::kWaits: break;
    case Paths::Miss::kNoRoom: counters_.no_path_room.add(); break;
    case Paths::Miss::kUnreachable: counters_.no_path.add(); break;
  }
  return std::nullopt;
}

std::optional<Path> Uplink::path_within(const BroadcastGroup& group, std::uint16_t lid) const {
  const subnet::Port& port = *adapter_.port(port_);
  if (!port.has_lid(lid)) return std::nullopt;
  return Path{
      .gid = port.gid(), .level = group.level, .mtu = wire::infiniband::bytes_of(port.mtu())};
}

void Uplink::on_path(std::vector<Paths::WaitingFrame> frames) {
  for (const Paths::WaitingFrame& frame : frames) on_frame(frame.vlan, frame.bytes);
}

void Uplink::send_arp(const BroadcastGroup& group, const AddressFacts& own,
                      const EthernetFrame& frame, const Way& way) {
  const auto arp = read_ethernet_arp(frame.payload);
  // A frame says which address it comes from, and must mean it.
  if (!arp || arp->sender != own.mac || type_of(arp->operation) != frame.type)
    return counters_.bad_arp.add();
  std::optional<IpoibAddress> target;
  if (way.group == nullptr) target = address_with(way.to.number, way.path.gid);
  if (ClaimedAddresses* claims = addresses_.claims_of(own.mac, own.vlan))
    claims->ipv4.add(arp->sender_ipv4);
  const auto packet = infiniband_arp(to_infiniband(*arp, link_addresses_.address_of(own), target));
  send(group, own, frame.type, packet, way, sizeof(EthernetHeader) + frame.payload.size());
}

void Uplink::send_ipv6(const BroadcastGroup& group, const AddressFacts& own,
                       const EthernetFrame& frame, const Way& way) {
  const std::size_t frame_bytes = sizeof(EthernetHeader) + frame.payload.size();
  switch (discovery_kind(frame.payload)) {
    case DiscoveryKind::kNone: return send(group, own, frame.type, frame.payload, way, frame_bytes);
    case DiscoveryKind::kHidden: return counters_.bad_neighbours.add();
    case DiscoveryKind::kPlain: break;
  }
  const auto address = [&](const MacBytes& mac) -> std::optional<IpoibAddress> {
    if (mac == own.mac) return link_addresses_.address_of(own);
    // In a redirect: another node of the subnet.
    const auto other = remote_queue_pair(mac);
    if (!other) return std::nullopt;
    if (const auto within = path_within(group, other->lid))
      return address_with(other->number, within->gid);
    const Path* path = paths_.known({.partition = group.partition, .lid = other->lid});
    if (path == nullptr) return std::nullopt;
    return address_with(other->number, path->gid);
  };
  const auto packet = discovery_to_infiniband(frame.payload, address);
  if (!packet || packet->size() > way.mtu) return counters_.bad_neighbours.add();
  const auto claimed = claimed_by_discovery(frame.payload);
  ClaimedAddresses* claims = addresses_.claims_of(own.mac, own.vlan);
  if (claimed && claims != nullptr) claims->ipv6.add(*claimed);
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
  if (way.group != nullptr) {
    headers.destination = way.group->lid;
    headers.destination_qp = wire::infiniband::kMulticastQueuePair;
    headers.service_level = way.group->level;
    headers.global = GlobalRoute{.destination = way.group->gid,
                                 .flow_label = way.group->flow_label,
                                 .traffic_class = way.group->traffic_class,
                                 .hop_limit = way.group->hop_limit};
  } else {
    headers.source = way.path.source;
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

}  // namespace paravane::ipoib
