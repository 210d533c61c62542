#include "sniff/route.h"

#include <algorithm>

#include "verbs/connection.h"
#include "verbs/grh.h"

namespace paravane::sniff {

using verbs::Direction;
using wire::roce::MacBytes;
using wire::roce::Network;
using wire::roce::Route;

namespace {

// The default hop limit.
constexpr std::uint8_t kDefaultHops = 64;

// Of RFC 4291, appendix A: the universal bit, and what stands between the halves.
constexpr std::uint8_t kUniversal = 0x02;
constexpr std::uint8_t kMulticast = 0x01;

Network network_of(verbs::GidType type, const verbs::Gid& sgid, const verbs::Gid& dgid) {
  switch (verbs::network_header_of(type, sgid, dgid)) {
    case verbs::NetworkHeader::kRoceV1: return Network::kV1;
    case verbs::NetworkHeader::kIpv4: return Network::kV2Ipv4;
    case verbs::NetworkHeader::kIpv6: break;
  }
  return Network::kV2Ipv6;
}

// What the sender said of the way; an answer comes back alike.
Route route_of(const verbs::AddressVector& av, std::uint32_t local_qp, std::uint32_t remote_qp) {
  return {.flow_label = av.flow_label,
          .traffic_class = av.traffic_class,
          .hop_limit = av.hop_limit != 0 ? av.hop_limit : kDefaultHops,
          .udp_source_port = wire::roce::udp_source_port(av.flow_label, local_qp, remote_qp)};
}

MacBytes peer_mac(const MacBytes& known, const verbs::Gid& gid) {
  return known != MacBytes{} ? known : mac_of(gid);
}

}  // namespace

MacBytes mac_of(const verbs::Gid& gid) {
  const auto& raw = gid.raw;
  if (raw[11] == 0xFF && raw[12] == 0xFE && (raw[8] & kMulticast) == 0) {
    return {
        static_cast<std::uint8_t>(raw[8] ^ kUniversal), raw[9], raw[10], raw[13], raw[14], raw[15]};
  }
  MacBytes made{kUniversal};  // in a MAC address the bit says: locally administered
  for (std::size_t i = 0; i < raw.size(); ++i) made[1 + (i + 4) % 5] ^= raw[i];
  return made;
}

std::optional<Route> connection_route(const verbs::QueuePair& qp,
                                      const verbs::QpAttributes& attributes, Direction direction,
                                      const MacBytes& own_mac) {
  const verbs::Connection& connection = qp.connection();
  if (!connection.is_set()) return std::nullopt;
  Route route = route_of(attributes.av, qp.number(), qp.dest_qpn());
  route.network = network_of(connection.gid_type(), connection.sgid(), connection.dgid());
  route.source_mac = own_mac;
  route.destination_mac = peer_mac(attributes.av.dmac, connection.dgid());
  route.source = connection.sgid().raw;
  route.destination = connection.dgid().raw;
  if (direction == Direction::kIn) {
    std::swap(route.source_mac, route.destination_mac);
    std::swap(route.source, route.destination);
  }
  return route;
}

Route datagram_route(const verbs::DatagramSource& source, const verbs::SendRequest& request,
                     Direction direction, const MacBytes& own_mac) {
  Route route = route_of(request.av, source.qpn, request.remote_qpn);
  route.network = network_of(source.gid_type, source.sgid, request.av.dgid);
  route.source = source.sgid.raw;
  route.destination = request.av.dgid.raw;
  const bool is_ours = direction == Direction::kOut;
  route.source_mac = is_ours ? own_mac : mac_of(source.sgid);
  route.destination_mac = is_ours ? peer_mac(request.av.dmac, request.av.dgid) : own_mac;
  return route;
}

}  // namespace paravane::sniff
