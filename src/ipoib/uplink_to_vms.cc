// Packets of the subnet at an Uplink: what may pass, which VM it is for, and the frame that it
// becomes.

#include <cstring>

#include "ipoib/arp.h"
#include "ipoib/group_mac.h"
#include "ipoib/neighbour_discovery.h"
#include "ipoib/uplink.h"

namespace paravane::ipoib {

using wire::infiniband::Datagram;
using wire::infiniband::DatagramHeaders;
using wire::infiniband::EncapsulationHeader;
using wire::infiniband::kEtherTypeArp;
using wire::infiniband::kEtherTypeRarp;
using wire::roce::kEtherTypeIpv4;
using wire::roce::kEtherTypeIpv6;

MacBytes Uplink::mac_for(const Arrival& arrival, std::span<const std::byte> packet) {
  return arrival.own != nullptr ? arrival.own->mac : group_mac_of(packet);
}

void Uplink::on_datagram(std::uint32_t queue_pair, const Datagram& packet) {
  const DatagramHeaders& headers = packet.headers;
  Arrival arrival{.from = {.number = headers.source_qp, .lid = headers.source},
                  .headers = &headers};
  if (link_addresses_.is_own(arrival.from)) return counters_.own_loops.add();
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
  const bool is_right = group != nullptr && link_addresses_.mac_of(arrival.vlan, arrival.from) &&
                        packet.payload.size() > sizeof(EncapsulationHeader) &&
                        packet.payload.size() - sizeof(EncapsulationHeader) <= group->mtu;
  if (!is_right) return counters_.bad_packets.add();
  remotes_.heard(arrival.vlan, arrival.from, clock_.now);
  if (arrival.own != nullptr) addresses_.answered(queue_pair);
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
  return link_addresses_.mac_of(arrival.vlan,
                                {.number = address.queue_pair(), .lid = arrival.from.lid});
}

void Uplink::take_arp(const Arrival& arrival, std::uint16_t type,
                      std::span<const std::byte> packet) {
  const auto arp = read_infiniband_arp(packet);
  if (!arp || type_of(arp->operation) != type) return counters_.bad_arp.add();
  const auto sender = mac_of_sender(arrival, arp->sender);
  if (!sender) return counters_.bad_arp.add();
  const AddressFacts* target =
      arrival.own != nullptr ? arrival.own : link_addresses_.own_at(arrival.vlan, arp->target);
  const auto ethernet =
      ethernet_arp(to_ethernet(*arp, *sender, target == nullptr ? MacBytes{} : target->mac));
  deliver(arrival, arrival.own != nullptr ? arrival.own->mac : kBroadcastMac, type, ethernet);
}

void Uplink::take_ipv6(const Arrival& arrival, std::span<const std::byte> packet) {
  switch (discovery_kind(packet)) {
    case DiscoveryKind::kNone:
      multicast_.hear(arrival.vlan, packet);
      return deliver(arrival, mac_for(arrival, packet), kEtherTypeIpv6, packet);
    case DiscoveryKind::kHidden: return counters_.bad_neighbours.add();
    case DiscoveryKind::kPlain: break;
  }
  const auto mac = [&](const IpoibAddress& address) -> std::optional<MacBytes> {
    if (address.queue_pair() == arrival.from.number) return mac_of_sender(arrival, address);
    const AddressFacts* own = link_addresses_.own_at(arrival.vlan, address);
    if (own == nullptr) return std::nullopt;
    return own->mac;
  };
  const auto ethernet = discovery_to_ethernet(packet, mac);
  if (!ethernet) return counters_.bad_neighbours.add();
  deliver(arrival, mac_for(arrival, *ethernet), kEtherTypeIpv6, *ethernet);
}

void Uplink::on_query(std::uint16_t vlan, std::uint16_t type, std::span<const std::byte> packet) {
  // In the name of the queue pair that hears the VLAN's groups, to which no frame is sent.
  const Partition& partition = partitions_.at(vlan);
  if (!partition.listener) return;
  const auto source =
      link_addresses_.mac_of(vlan, {.number = *partition.listener, .lid = own_lid()});
  if (!source) return;
  write_frame(
      {.destination = group_mac_of(packet), .source = *source, .type = type, .payload = packet},
      delivered_);
  sink_.deliver(vlan, delivered_);
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
