// The internals of a queue pair, for its requester and responder: they share the state, the
// attributes and the few ways in which a queue pair fails.
//
// Owner thread only.

#pragma once

#include "base/line.h"
#include "base/timers.h"
#include "verbs/adapter.h"
#include "verbs/connection.h"
#include "verbs/queue_pair.h"
#include "verbs/requester.h"
#include "verbs/responder.h"

namespace paravane::verbs {

struct QueuePair::Impl {
  Impl(QueuePair& qp, Adapter& its_adapter, const QueuePairSpec& its_spec)
      : self(qp), adapter(its_adapter), spec(its_spec), requester(qp), responder(qp) {}

  // The one place where the state changes; everything else that belongs to the
  // move has been done before.
  void set_state(QpState to);

  // For RESET: forgets everything but what it was made with. The rings are left
  // alone; the guest zeroes them.
  void reset();

  // Stops both halves and goes to ERR; what is posted will be flushed.
  void enter_error();

  // ERR, and an event that says why.
  void fail(QpEvent reason);

  // A send request completed in error: the connection is broken, or (datagrams)
  // the send queue is.
  void send_failed();

  // A completion that finds no place is fatal for the queue pair.
  void push(CompletionQueue& queue, const Completion& completion, Reveal when = Reveal::kNow);

  // In SQD with nothing in hand: says so, once, if asked to.
  void note_drained();

  AdapterCounters& counters() { return adapter.counters(); }

  QueuePair& self;
  Adapter& adapter;
  const QueuePairSpec spec;
  QpState state = QpState::kReset;
  QpAttributes attributes;
  Connection connection;  // RC: from RTR on; datagrams: where the last one went
  QueuePairStats stats;
  std::unique_ptr<PathState> path_state;
  std::uint64_t life = 0;
  Line<QueuePair>::Place scheduled;  // in the adapter's order of work
  bool wants_drained_event = false;
  bool announced_established = false;
  Requester requester;
  Responder responder;
};

}  // namespace paravane::verbs
