// QpLink: the state of one queue pair in the TCP channel: its own link to the peer and the end of
// the peer's link, or the datagram that it sends.
//
// Owner thread only.

#pragma once

#include "base/line.h"
#include "transport/tcp/inbound_link.h"
#include "transport/tcp/outbound_datagram.h"
#include "transport/tcp/outbound_link.h"
#include "verbs/transport.h"

namespace paravane::transport_tcp {

struct QpLink final : verbs::PathState {
  QpLink(const verbs::Transport& transport, verbs::QueuePair& qp)
      : PathState(transport), outbound(qp), inbound(qp), datagram(qp) {}
  ~QpLink() override {
    if (queue != nullptr) queue->leave(waiting);
  }

  OutboundLink outbound;
  InboundLink inbound;
  OutboundDatagram datagram;
  // Of the queue pairs that wait for a path to their peer's host.
  Line<verbs::QueuePair>* queue = nullptr;
  Line<verbs::QueuePair>::Place waiting;
};

}  // namespace paravane::transport_tcp
