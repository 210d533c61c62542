// QpLink is the state of one queue pair in the transport between hosts. For a connection, it
// contains the outbound link, which carries this queue pair's requests, and the inbound link, which
// carries its peer's. For a queue pair that sends datagrams, it contains the datagram that is being
// sent.
//
// Owner thread only.

#pragma once

#include "base/line.h"
#include "transport/channel/inbound_link.h"
#include "transport/channel/outbound_datagram.h"
#include "transport/channel/outbound_link.h"
#include "verbs/transport.h"

namespace paravane::transport_channel {

struct QpLink final : verbs::PathState {
  QpLink(const verbs::Transport& transport, verbs::QueuePair& qp)
      : PathState(transport), outbound(qp), inbound(qp), datagram(qp) {}
  ~QpLink() override {
    if (queue != nullptr) queue->leave(waiting);
  }

  OutboundLink outbound;
  InboundLink inbound;
  OutboundDatagram datagram;
  // The queue pairs that wait for a channel to the peer's host, of which this may be one.
  Line<verbs::QueuePair>* queue = nullptr;
  Line<verbs::QueuePair>::Place waiting;
};

}  // namespace paravane::transport_channel
