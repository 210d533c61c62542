// Responder: the half of a queue pair that acts on a peer's request.
//
// A request is judged once and whole before its first byte moves (begin), then
// placed slice by slice by the transport (extents), then made visible (finish):
// a receive is taken and completed, or nothing shows but the bytes. The checks
// stand in the order of the specification. A request that begin() refused has
// had no effect.
//
// Owner thread only.

#pragma once

#include <cstdint>

#include "guestmem/extent.h"
#include "verbs/completion.h"
#include "verbs/transport.h"
#include "verbs/types.h"

namespace paravane::verbs {

class QueuePair;

// A peer's request, by value. From a network it has been parsed and bounded;
// what it means is judged here.
struct RemoteRequest {
  WrOpcode opcode = WrOpcode::kSend;
  bool solicited = false;
  std::uint32_t source_qpn = 0;
  std::uint64_t remote_addr = 0;
  std::uint32_t rkey = 0;
  std::uint64_t length = 0;
  Immediate imm{};
};

class Responder {
 public:
  explicit Responder(QueuePair& qp) : qp_(qp) {}

  // kDone: go on with extents() and finish(). Anything else is the answer to
  // the peer, and this side has drawn its own conclusions (error completion of
  // the receive, async event, ERR).
  Outcome begin(const RemoteRequest& request);

  // Where bytes [offset, offset+length) of the message go (or come from, for
  // RDMA READ). kDone, or the answer to the peer.
  Outcome extents(std::uint64_t offset, std::uint64_t length, ExtentList& out);

  // All bytes are in place.
  Outcome finish();

  // The requester gave up in the middle. A receive that was taken is completed
  // in error.
  void abort();
  bool busy() const;

  // One datagram; dropped and counted when it does not fit the state, the Q_Key
  // or the receive.
  void datagram(const DatagramSource& source, const SendRequest& request, const ExtentList& payload);

 private:
  QueuePair& qp_;
};

}  // namespace paravane::verbs
