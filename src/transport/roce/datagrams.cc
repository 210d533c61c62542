#include "transport/roce/datagrams.h"

#include <algorithm>
#include <array>

namespace paravane::transport_roce {

using wire::roce::Network;
using wire::roce::Opcode;
using wire::roce::Packet;

namespace {

// As a program sees it (verbs/grh.h): IPv4's is the second half.
verbs::GrhArea network_header(const Packet& packet) {
  std::array<std::byte, wire::roce::kMostHeaderBytes> headers{};
  wire::roce::write_headers(packet, headers);
  const auto network = std::span(headers).subspan(sizeof(wire::roce::EthernetHeader));
  verbs::GrhArea area{};
  const bool is_ipv4 = packet.route.network == Network::kV2Ipv4;
  const std::size_t bytes = is_ipv4 ? sizeof(wire::roce::Ipv4Header) : area.size();
  std::ranges::copy(network.first(bytes), area.end() - static_cast<std::ptrdiff_t>(bytes));
  return area;
}

}  // namespace

Packet datagram_packet(const verbs::DatagramSource& source, const verbs::SendRequest& request,
                       std::uint32_t payload_bytes, const OwnEnd& own) {
  const bool with_imm = request.opcode == verbs::WrOpcode::kSendWithImm;
  Packet packet;
  packet.route =
      route_of(source.gid_type, source.sgid, request.av, source.qpn, request.remote_qpn, own);
  packet.opcode = with_imm ? Opcode::kDatagramOnlyImm : Opcode::kDatagramOnly;
  packet.solicited = request.solicited;
  packet.destination_qp = request.remote_qpn;
  packet.payload_bytes = payload_bytes;
  packet.qkey = source.qkey;
  packet.source_qp = source.qpn;
  packet.immediate = request.imm;
  return packet;
}

verbs::GidType gid_type_of(const Packet& packet) {
  return packet.route.network == Network::kV1 ? verbs::GidType::kRoceV1 : verbs::GidType::kRoceV2;
}

verbs::DatagramSource datagram_source(const Packet& packet) {
  return {.sgid = verbs::Gid{packet.route.source},
          .gid_type = gid_type_of(packet),
          .qpn = packet.source_qp,
          .qkey = packet.qkey,
          .header = network_header(packet)};
}

verbs::SendRequest datagram_request(const Packet& packet) {
  const bool with_imm = packet.opcode == Opcode::kDatagramOnlyImm;
  verbs::SendRequest request;
  request.opcode = with_imm ? verbs::WrOpcode::kSendWithImm : verbs::WrOpcode::kSend;
  request.solicited = packet.solicited;
  request.imm = packet.immediate;
  request.remote_qpn = packet.destination_qp;
  request.remote_qkey = packet.qkey;
  request.av.dgid = verbs::Gid{packet.route.destination};
  request.av.flow_label = packet.route.flow_label;
  request.av.traffic_class = packet.route.traffic_class;
  request.av.hop_limit = packet.route.hop_limit;
  return request;
}

}  // namespace paravane::transport_roce
