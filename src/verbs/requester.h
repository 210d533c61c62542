// Requester is the half of a queue pair that executes the queue pair's own send requests, in order.
//
// Requests that were taken from the ring stay in a window until they complete. The transport
// carries as many of the oldest requests as it supports at once, while the requester prepares the
// next one. If a request does not succeed, the outcome applies to the oldest request, and all
// requests after it are submitted again, as they would be on a wire.
//
// The requester's phase (requester_phase.h) determines what the requester can do next and what it
// waits for.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <optional>

#include "base/instant.h"
#include "base/timers.h"
#include "verbs/absence.h"
#include "verbs/queue_pair.h"
#include "verbs/requester_phase.h"
#include "verbs/send_window.h"
#include "verbs/transport.h"
#include "verbs/work_request.h"

namespace paravane::verbs {

class Observer;

class Requester {
 public:
  explicit Requester(QueuePair& qp) : qp_(qp) {}
  Requester(const Requester&) = delete;
  Requester& operator=(const Requester&) = delete;

  // Executes what is posted, or flushes it in ERR and SQE. True: there may be
  // more to do now.
  bool run(Instant now, Budget& budget);

  void on_outcome(const Outcome& outcome, Instant now);
  void on_peer_ready();
  void on_path_back();

  // For an error state: cancels the work in progress. The requests stay in the window, and the next
  // run() completes them.
  void stop();

  // For RESET and destruction: forgets all requests.
  void reset();

  // The requests in the window (docs/state.md).
  void save(state::Writer& out) const;
  void load(state::Reader& in);

  // Sets the filter for outcomes; null: no filter. The caller that sets it removes it before the
  // work ends.
  void set_filter(OutcomeFilter* filter) { filter_ = filter; }

  bool has_request() const { return taken_ > 0; }

  // Whether run() could do anything now, without an outcome or a timer first.
  bool can_run() const { return phase_ == Phase::kOpen; }

 private:
  using Phase = RequesterPhase;
  using Event = RequesterEvent;

  // How the oldest request is tried next.
  enum class NextTry : std::uint8_t { kPlain, kOnlyAnswer, kNone };

  // The retries used by the oldest request, and how it is tried next. Each request begins with a
  // new Attempt.
  struct Attempt {
    NextTry next = NextTry::kPlain;
    bool answer_lost = false;  // the peer has it
    std::uint8_t retries_left = 0;
    std::uint8_t rnr_retries_left = 0;
  };

  bool has_in_hand() const { return taken_ > carried_; }
  SendRequest& in_hand() { return window_.slot(carried_); }

  bool run_requests(Instant now, Budget& budget);
  // Executes requests on the fast path. True: the send ring has no more; false: the next one, if
  // there is one, is not for the fast path.
  bool run_fast(Instant now, Budget& budget);
  // `Fast`: FastPath or FastDatagrams.
  template <typename Fast>
  bool run_over(Fast& path, Instant now, Budget& budget);
  bool take(Instant now);
  // Puts a request that was taken into the window.
  void keep(const SendRequest& request);
  bool has_room() const;
  void begin_attempt();
  // Whether the request can be in progress together with those that are carried.
  bool may_follow(const SendRequest& request) const;
  // True: earlier requests are in progress, and the next one is tried after them.
  bool blocked_by_others();
  void give_back_carried();
  void on_absent_ring(Instant now);
  void attempt(Instant now, Budget& budget);
  void attempt_specially(Instant now, Budget& budget);
  void attempt_message(Instant now, Budget& budget);
  void note_carried();
  void attempt_datagram(Instant now, Budget& budget);
  // Fast registration and local invalidate: no peer takes part.
  void attempt_registration(Budget& budget);
  WcStatus register_fast();
  std::optional<Outcome> send_datagram(Budget& budget);

  void settle(const Outcome& outcome, Instant now);
  void on_no_answer(const Outcome& outcome, Instant now);
  void on_no_path(Instant now);
  void on_receiver_not_ready(const Outcome& outcome, Instant now);
  void on_absent_memory(const Outcome& outcome, Instant now);

  // To the adapter's observer, within Adapter::observe().
  void tell_try(Observer& observer);                             // of the request in hand
  void tell_answer(Observer& observer, const Outcome& outcome);  // to the oldest
  void tell_datagram(Observer& observer, const DatagramSource& source);

  // The oldest request is over.
  void complete(WcStatus status);
  Completion completion_of(const SendRequest& request, WcStatus status) const;
  void drop_oldest();
  // `bytes`: of the whole message.
  void report_success(const SendRequest& request, std::uint64_t bytes);
  void count_success(WrOpcode opcode, std::uint64_t bytes);

  // The one place where the phase changes. Waits begin and end by the functions below, which
  // see to the timer.
  void step(Event event);
  // `event` begins a wait.
  void wait(Event event, Duration duration, Instant now);
  // `event` ends the wait that there is.
  void end_wait(Event event);
  // As step(), of an event that may come in a wait and in other phases.
  void step_out(Event event);
  // For an event that only ends the wait for it.
  void hear(Event event);
  // A response did not come: the next try uses one of the retries, or the request fails if none is
  // left.
  void spend_retry();

  QueuePair& qp_;
  Phase phase_ = Phase::kOpen;
  bool running_ = false;     // within run()
  bool is_checked_ = false;  // check_send() has passed the request in hand
  bool ring_dead_ = false;   // until reset()
  Attempt attempt_;
  OutcomeFilter* filter_ = nullptr;
  std::uint32_t taken_ = 0;          // requests in the window
  std::uint32_t carried_ = 0;        // of them, from the oldest on
  std::uint32_t carried_reads_ = 0;  // of those: READs and atomics
  Absence ring_absence_;
  Absence memory_absence_;  // of what the oldest request needs
  SendWindow window_;
  Transport* carrier_ = nullptr;    // of what is carried or being submitted
  TimerId timer_ = TimerId::kNone;  // of a wait
};

}  // namespace paravane::verbs
