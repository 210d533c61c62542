// Determines the network addresses that a queue pair's packets would have on a RoCE wire: MAC
// addresses, GIDs and the UDP source port.
//
// Pure functions; any thread.

#pragma once

#include <cstdint>
#include <optional>

#include "verbs/observer.h"
#include "verbs/queue_pair.h"
#include "wire/roce/packet.h"

namespace paravane::sniff {

// The MAC address from which a GID is derived. For any other GID, a made-up address (locally
// administered) that is always the same for that GID.
wire::roce::MacBytes mac_of(const verbs::Gid& gid);

// The route of a connection; `own_mac` is the adapter's address. nullopt: the queue pair is not
// connected yet.
std::optional<wire::roce::Route> connection_route(const verbs::QueuePair& qp,
                                                  const verbs::QpAttributes& attributes,
                                                  verbs::Direction direction,
                                                  const wire::roce::MacBytes& own_mac);

// The route of a datagram.
wire::roce::Route datagram_route(const verbs::DatagramSource& source,
                                 const verbs::SendRequest& request, verbs::Direction direction,
                                 const wire::roce::MacBytes& own_mac);

}  // namespace paravane::sniff
