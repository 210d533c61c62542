// Defines the internals of a queue pair that its requester and its responder share: the state, the
// attributes, and the functions by which a queue pair enters an error state.
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

  // The only function that changes the state. All other parts of the transition were done before.
  void set_state(QpState to);

  // For RESET: forgets everything except the values from its creation. The rings are not changed;
  // the guest zeroes them.
  void reset();

  // Stops the requester and the responder and enters ERR; posted requests will be flushed.
  void enter_error();

  // Enters ERR and raises an event with the reason.
  void fail(QpEvent reason);

  // A send request completed in error: the connection is broken, or (datagrams)
  // the send queue is.
  void send_failed();

  // If the completion queue is full, the error is fatal for the queue pair.
  void push(CompletionQueue& queue, const Completion& completion, Reveal when = Reveal::kNow);

  // If the queue pair is in SQD and has no request in progress, raises the requested event once.
  void note_drained();

  AdapterCounters& counters() { return adapter.counters(); }

  QueuePair& self;
  Adapter& adapter;
  const QueuePairSpec spec;
  QpState state = QpState::kReset;
  QpAttributes attributes;
  Connection connection;  // RC: from RTR on; datagrams: where the last one went
  QueuePairStats stats;
  std::unique_ptr<PathState> path_states;  // one for each transport that carried something
  std::uint64_t modifications = 0;
  std::uint64_t life = 0;
  Line<QueuePair>::Place scheduled;  // in the adapter's order of work
  bool wants_drained_event = false;
  bool announced_established = false;
  Requester requester;
  Responder responder;
};

}  // namespace paravane::verbs
