// FlowFacts: what every packet of a connection has in common, and how its messages are cut into
// packets.
//
// Plain values and pure functions; any thread.

#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/roce/router_probe.h"
#include "verbs/psn.h"
#include "verbs/qp_attributes.h"
#include "verbs/queue_pair.h"
#include "wire/roce/packet.h"

namespace paravane::transport_roce {

// An adapter, in the packets that it sends.
struct OwnEnd {
  wire::roce::MacBytes mac{};
  // Of RoCE v2 packets whose address vector names no class. One that the guest names is kept, and
  // so is that of RoCE v1, which no IP router or queue by DSCP sees.
  std::uint8_t traffic_class = 0;

  friend bool operator==(const OwnEnd&, const OwnEnd&) = default;
};

struct FlowFacts {
  wire::roce::Route route;  // from us to the peer
  std::uint32_t peer_qpn = 0;
  std::uint32_t mtu = 1024;  // bytes of payload in a packet that is not the last
  // By the MigReq bit of its packets. Linux's rdma_rxe leaves it 0: it neither answers marks of
  // congestion nor knows what a notification of them is.
  bool peer_is_adapter = false;

  // A message without bytes has one packet, and so has an atomic.
  std::uint32_t packets_of(std::uint64_t bytes) const {
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (bytes + mtu - 1) / mtu));
  }
  // The payload of packet `number` of a message of `bytes`.
  std::uint32_t bytes_of(std::uint64_t bytes, std::uint32_t number) const {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(mtu, bytes - std::uint64_t{number} * mtu));
  }
  // Whether the network carries its packets.
  bool fits(std::uint32_t network_mtu) const;
  wire::roce::Packet packet(wire::roce::Opcode opcode, verbs::Psn psn) const {
    wire::roce::Packet packet;
    packet.route = route;
    packet.opcode = opcode;
    packet.destination_qp = peer_qpn;
    packet.psn = psn.value();
    if (peer_is_adapter) {
      std::uint8_t& traffic_class = packet.route.traffic_class;
      traffic_class = wire::roce::with_ecn(traffic_class, wire::roce::Ecn::kCapable0);
    }
    return packet;
  }
};

// The path MTU in bytes. `encoded`: enum ib_mtu, 1 = 256 ... 5 = 4096.
constexpr std::uint32_t mtu_bytes(std::uint32_t encoded) {
  return 128u << std::clamp<std::uint32_t>(encoded, 1, 5);
}

// What precedes and follows the payload of a packet at most, without the Ethernet header: the
// headers of a write with immediate data.
constexpr std::uint32_t most_headers(wire::roce::Network network) {
  constexpr std::uint32_t kTransport =
      sizeof(wire::roce::BaseHeader) + sizeof(wire::roce::RdmaHeader) +
      sizeof(wire::roce::Packet::immediate) + wire::roce::kIcrcBytes;
  constexpr std::uint32_t kUdp = sizeof(wire::roce::UdpHeader);
  switch (network) {
    case wire::roce::Network::kV1: return kTransport + sizeof(wire::roce::LongHeader);
    case wire::roce::Network::kV2Ipv4: return kTransport + kUdp + sizeof(wire::roce::Ipv4Header);
    case wire::roce::Network::kV2Ipv6: break;
  }
  return kTransport + kUdp + sizeof(wire::roce::LongHeader);
}

// The largest path MTU that a network with this MTU carries, encoded; the smallest if it carries
// none.
constexpr std::uint32_t path_mtu_of(std::uint32_t network_mtu) {
  std::uint32_t encoded = 5;
  while (encoded > 1 &&
         mtu_bytes(encoded) + most_headers(wire::roce::Network::kV2Ipv6) > network_mtu) {
    --encoded;
  }
  return encoded;
}

// With it, the first router drops a packet.
inline constexpr std::uint8_t kOneHop = 1;

// The way that packets with this route take, where a router is on it.
inline RouterWay router_way(const wire::roce::Route& route) {
  return {.own = verbs::Gid{route.source},
          .peer = verbs::Gid{route.destination},
          .gateway = route.destination_mac,
          .hop_limit = route.hop_limit};
}

// REQUIRES: `qp` is connected. `own`: its adapter.
FlowFacts flow_facts(const verbs::QueuePair& qp, const verbs::QpAttributes& attributes,
                     const OwnEnd& own);

// The network that packets from one GID to another go over.
wire::roce::Network network_of(verbs::GidType type, const verbs::Gid& sgid, const verbs::Gid& dgid);
wire::roce::Route route_of(verbs::GidType type, const verbs::Gid& sgid,
                           const verbs::AddressVector& av, std::uint32_t own_qpn,
                           std::uint32_t peer_qpn, const OwnEnd& own);

}  // namespace paravane::transport_roce
