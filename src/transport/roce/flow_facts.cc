#include "transport/roce/flow_facts.h"

#include "verbs/connection.h"
#include "verbs/grh.h"

namespace paravane::transport_roce {
namespace {

// Linux's default, for an address vector that names no limit.
constexpr std::uint8_t kDefaultHops = 64;

std::uint8_t class_of(const verbs::AddressVector& av, wire::roce::Network network,
                      const OwnEnd& own) {
  const bool is_named = av.traffic_class != 0;
  return is_named || network == wire::roce::Network::kV1 ? av.traffic_class : own.traffic_class;
}

}  // namespace

using wire::roce::Network;

Network network_of(verbs::GidType type, const verbs::Gid& sgid, const verbs::Gid& dgid) {
  switch (verbs::network_header_of(type, sgid, dgid)) {
    case verbs::NetworkHeader::kRoceV1: return Network::kV1;
    case verbs::NetworkHeader::kIpv4: return Network::kV2Ipv4;
    case verbs::NetworkHeader::kIpv6: break;
  }
  return Network::kV2Ipv6;
}

wire::roce::Route route_of(verbs::GidType type, const verbs::Gid& sgid,
                           const verbs::AddressVector& av, std::uint32_t own_qpn,
                           std::uint32_t peer_qpn, const OwnEnd& own) {
  const Network network = network_of(type, sgid, av.dgid);
  return {.network = network,
          .source_mac = own.mac,
          .destination_mac = av.dmac,
          .source = sgid.raw,
          .destination = av.dgid.raw,
          .flow_label = network == Network::kV2Ipv4 ? 0 : av.flow_label,
          .traffic_class = class_of(av, network, own),
          .hop_limit = av.hop_limit != 0 ? av.hop_limit : kDefaultHops,
          .udp_source_port = network == Network::kV1
                                 ? std::uint16_t{0}
                                 : wire::roce::udp_source_port(av.flow_label, own_qpn, peer_qpn)};
}

bool FlowFacts::fits(std::uint32_t network_mtu) const {
  return mtu + most_headers(route.network) <= network_mtu;
}

FlowFacts flow_facts(const verbs::QueuePair& qp, const verbs::QpAttributes& attributes,
                     const OwnEnd& own) {
  const verbs::Connection& connection = qp.connection();
  verbs::AddressVector av = attributes.av;
  av.dgid = connection.dgid();
  return {.route = route_of(connection.gid_type(), connection.sgid(), av, qp.number(),
                            qp.dest_qpn(), own),
          .peer_qpn = qp.dest_qpn(),
          .mtu = mtu_bytes(attributes.path_mtu)};
}

}  // namespace paravane::transport_roce
