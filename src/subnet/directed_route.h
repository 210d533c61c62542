// What a node does with a directed-route SMP: the rules of IBTA volume 1, 14.2.2. A route is a list
// of ports, one for each hop; the hop pointer says how far the SMP has come, and the direction bit
// whether it goes to the responder or back.
//
// An answer is taken only from the port by which its request has left, so that no node answers for
// one that is elsewhere; the requester compares the route besides (asked_mads.h).
//
// Pure functions on the SMP, which they advance; any thread. SMPs come from strangers: a pointer, a
// count or a port that cannot be leads to kDrop.

#pragma once

#include <cstdint>

#include "wire/infiniband/subnet_management.h"

namespace paravane::subnet {

struct RouteStep {
  enum class Kind : std::uint8_t {
    kDrop,
    kForward,  // out of `port`
    kAnswer,   // it has arrived at its responder: this node
    kDeliver,  // it is back at its requester: this node
    kByLid,    // the directed part is over; goes on to `lid`, or as said below if that is 0
  };
  Kind kind = Kind::kDrop;
  std::uint8_t port = 0;
  std::uint16_t lid = 0;
};

bool is_returning(const wire::infiniband::SubnetManagementPacket& smp);

// An SMP that came in through a port of a node. `is_switch`: it may forward.
RouteStep on_arrival(wire::infiniband::SubnetManagementPacket& smp, std::uint8_t arrived,
                     bool is_switch, std::uint8_t ports);
// An SMP that a program of this node sends out: a request, or its answer to one. kAnswer: it asks
// this node itself. kByLid without a LID: to the LID that the program names.
RouteStep on_departure(wire::infiniband::SubnetManagementPacket& smp, std::uint8_t ports);
// An answer of this node: it has been made of the request and is on its way back. kDeliver: the
// request was this node's own. kByLid without a LID: to the LID that the request's packet came
// from.
RouteStep on_answer(wire::infiniband::SubnetManagementPacket& smp);

}  // namespace paravane::subnet
