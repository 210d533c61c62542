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
      : adapter(its_adapter), requester(qp), responder(qp), spec(its_spec) {}

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

  // Datagrams: the Q_Key that the request carries.
  std::uint32_t qkey_of(const SendRequest& request) const;
  // Datagrams: the sender of the request, as its recipient sees it. nullopt: no GID is bound to the
  // index that the request names.
  std::optional<DatagramSource> source_of(const SendRequest& request) const;
  // Datagrams: the path from a source of this queue pair's. nullptr: no adapter has `dgid` now, or
  // it is the address of a group.
  const Path* path_from(const DatagramSource& source, const Gid& dgid);

  // If the queue pair is in SQD and has no request in progress, raises the requested event once.
  void note_drained();

  AdapterCounters& counters() { return adapter.counters(); }

  // What each request needs stands first and together.
  Adapter& adapter;
  Line<QueuePair>::Place scheduled;  // in the adapter's order of work
  QpState state = QpState::kReset;
  bool wants_drained_event = false;
  bool announced_established = false;
  Requester requester;
  Responder responder;
  Connection connection;  // RC: from RTR on; datagrams: where the last one went
  QueuePairStats stats;
  const QueuePairSpec spec;
  QpAttributes attributes;
  std::unique_ptr<PathState> path_states;  // one for each transport that carried something
  std::uint64_t modifications = 0;
  std::uint64_t life = 0;  // counted in the adapter
  Life peer_life;
};

struct QueuePair::Whole final : QueuePair {
  Whole(Adapter& adapter, const QueuePairSpec& spec);
  ~Whole() override;
  Whole(const Whole&) = delete;
  Whole& operator=(const Whole&) = delete;

  Impl impl;
};

}  // namespace paravane::verbs
