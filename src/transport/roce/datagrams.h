// Datagrams of unreliable queue pairs, and of the connection manager's (QP 1), as RoCE packets.
//
// Pure functions; any thread. Source: IBTA volume 1, 9.8.

#pragma once

#include "transport/roce/flow_facts.h"
#include "verbs/transport.h"
#include "verbs/work_request.h"
#include "wire/roce/packet.h"

namespace paravane::transport_roce {

// A datagram of `payload_bytes` in a packet.
wire::roce::Packet datagram_packet(const verbs::DatagramSource& source,
                                   const verbs::SendRequest& request, std::uint32_t payload_bytes,
                                   const OwnEnd& own);

// The sender of a datagram that came in this packet, with the network header that was on the wire.
verbs::DatagramSource datagram_source(const wire::roce::Packet& packet);

// What a datagram that came in this packet asks for, as its sender posted it.
verbs::SendRequest datagram_request(const wire::roce::Packet& packet);

// The kind of GID that both addresses of the packet are.
verbs::GidType gid_type_of(const wire::roce::Packet& packet);

}  // namespace paravane::transport_roce
