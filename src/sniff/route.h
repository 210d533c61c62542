// The network part of packets: the addresses between which a queue pair's messages would travel.
//
// Pure; any thread.

#pragma once

#include <cstdint>
#include <optional>

#include "verbs/observer.h"
#include "verbs/queue_pair.h"
#include "wire/roce/packet.h"

namespace paravane::sniff {

// The MAC address that a GID speaks of, where it is made from one; else one of our own
// making (locally administered), always the same for that GID.
wire::roce::MacBytes mac_of(const verbs::Gid& gid);

// Of a connection; `own_mac` is the adapter's. nullopt: it is none yet.
std::optional<wire::roce::Route> connection_route(const verbs::QueuePair& qp,
                                                  const verbs::QpAttributes& attributes,
                                                  verbs::Direction direction,
                                                  const wire::roce::MacBytes& own_mac);

// Of a datagram.
wire::roce::Route datagram_route(const verbs::DatagramSource& source,
                                 const verbs::SendRequest& request, verbs::Direction direction,
                                 const wire::roce::MacBytes& own_mac);

}  // namespace paravane::sniff
