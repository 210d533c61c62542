// QueuePair is one side of an RDMA connection, or an endpoint that sends and receives datagrams.
//
// It has a state, a requester and a responder. Only modify() changes the state, except that the
// engine can also change it to an error state. The requester takes send requests from the work
// source and hands them to a transport. The responder places the requests of the peer in this
// adapter's memory when a transport asks it to. The state determines what a queue pair does:
//
//   RESET, INIT   the rings are never read (receives posted in INIT wait)
//   RTR           the responder works; sends wait
//   RTS           both work
//   SQD           the send in progress completes, later ones wait
//   SQE           (datagrams) sends are flushed, receives work
//   ERR           all posted requests are completed as flushed. From a shared receive queue, only
//                 receives that were taken are completed, and then an event reports the last one.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/instant.h"
#include "base/result.h"
#include "guestmem/extent.h"
#include "state/reader.h"
#include "state/writer.h"
#include "verbs/completion.h"
#include "verbs/life.h"
#include "verbs/memory_region.h"
#include "verbs/qp_attributes.h"
#include "verbs/transport.h"
#include "verbs/types.h"
#include "verbs/work_request.h"

namespace paravane::verbs {

class Adapter;
class Connection;
class Requester;
class Responder;

struct QueuePairSpec {
  QpType type = QpType::kReliableConnected;
  PdNumber pd{};
  std::uint32_t tag = 0;                  // given back in completions and events
  std::uint32_t number = 0;               // 24 bits; 0: the adapter chooses one
  CompletionQueue* send_cq = nullptr;     // outlives the QP
  CompletionQueue* receive_cq = nullptr;  // outlives the QP
  WorkSource* work = nullptr;             // outlives the QP
  bool signal_all = false;                // every send completes visibly
  // If set, receives come from a shared receive queue of this protection domain. Their keys are
  // checked in that domain, and receives that were not taken are not flushed in ERR.
  std::optional<PdNumber> shared_receives{};
};

// The statistics of one queue pair.
struct QueuePairStats {
  std::uint64_t sends = 0;     // requests completed as requester
  std::uint64_t receives = 0;  // requests placed as responder
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t errors = 0;  // completions with an error other than flushed
  std::uint64_t rnr_waits = 0;
  std::uint64_t retries = 0;
};

class QueuePair {
 public:
  // Adapter::create_qp() creates queue pairs. After one is destroyed, there are no more
  // completions, events or memory accesses for it.
  virtual ~QueuePair() = default;
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  std::uint32_t number() const { return number_; }
  QpType type() const { return type_; }
  QpState state() const;
  const QueuePairSpec& spec() const;
  std::uint32_t dest_qpn() const;
  // The two ends and the path between them: RC from RTR on.
  const Connection& connection() const { return *connection_; }
  // nullptr: unconnected, or no adapter has the peer's GID now.
  const Path* path();
  // "local", "tcp", ... or "-" while unconnected.
  std::string_view path_name() const;
  const QueuePairStats& stats() const;

  // Reads only the attributes in `mask`. Makes the whole change or none of it. Errors: as
  // check_transition(); kInvalidArgument for a value out of range.
  Status modify(const QpAttributes& attributes, QpAttrMask mask, Instant now);
  QpAttributes query() const;

  // Schedules the queue pair because its rings may have new work (after a doorbell, a hint or a
  // check). Cheap, and harmless in any state.
  void kick();

  // ---- Saved state (docs/state.md) ---- Without what its owner creates it with, and without the
  // states of transports. What a transport carries is asked for again by its new path, and what the
  // peer has executed is answered from its memory.
  // REQUIRES of load(): the adapter's state was loaded, and this queue pair has just been created.
  void save(state::Writer& out) const;
  void load(state::Reader& in);

  // ---- For the adapter's run() ----
  // Executes what is posted, within `budget`. True: there may be more to do now.
  bool run(Instant now, Budget& budget);

  // ---- For transports, on the requester's side ----
  Adapter& adapter() const { return adapter_; }
  void on_outcome(const Outcome& outcome, Instant now);
  // Sets the filter for the outcomes of the work in progress; null: no filter. The caller that sets
  // it removes it before the work ends.
  void set_outcome_filter(OutcomeFilter* filter);
  // The peer has posted a receive, which ends a wait for the RNR timer.
  void on_peer_ready();
  // The path to the peer's host is available again, which ends a wait for a response.
  void on_path_back();
  // nullptr: `transport` has added no state since the queue pair left RESET.
  PathState* path_state(const Transport& transport) const;
  // REQUIRES: the state's transport has added none yet.
  void add_path_state(std::unique_ptr<PathState> state);
  // The number of modify() calls that changed attributes: what was made of the attributes is up to
  // date while it stays the same.
  std::uint64_t modifications() const;
  // Identifies this use of the queue pair, which began when it left RESET. The lower half differs
  // from that of all others of its adapter.
  Life life() const;
  // The life that a transport has found the responder to have, since the queue pair left RESET: a
  // requester goes on with no other. Unknown at first.
  Life peer_life() const;
  void set_peer_life(const Life& life);
  // The extents of bytes [offset, offset+length) of the request's SGEs. `need`
  // is 0 to read them, kAccessLocalWrite to fill them (RDMA READ). On anything
  // but kDone what was appended to `out` is unspecified.
  Outcome gather(const SendRequest& request, std::uint64_t offset, std::uint64_t length,
                 AccessMask need, ExtentList& out);

  // ---- For transports, on the responder's side (verbs/responder.h) ----
  Responder& responder() { return *responder_; }

 private:
  friend class Adapter;
  friend class FastDatagrams;
  friend class FastPath;
  friend class Requester;
  friend class Responder;
  struct Impl;   // state, attributes, requester and responder: queue_pair_impl.h
  struct Whole;  // the queue pair and its Impl in one allocation
  QueuePair(Adapter& adapter, const QueuePairSpec& spec, Impl& impl);
  void tell_peer_ready();

  Impl* const impl_;
  // Kept here, and not in Impl, because each message needs them.
  Adapter& adapter_;
  const std::uint32_t number_;
  const QpType type_;
  Responder* responder_ = nullptr;
  const Connection* connection_ = nullptr;
};

}  // namespace paravane::verbs
