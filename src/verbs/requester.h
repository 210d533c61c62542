// Requester: the half of a queue pair that executes its own send requests, one
// at a time and in order.
//
// A request in hand is in one of these phases; only kReady lets it be tried:
//
//   kIdle        nothing in hand
//   kReady       in hand, to be tried (again)
//   kSubmitting  inside Transport::submit()
//   kCarried     a transport works on it; on_outcome() follows
//   kWaiting     a timer runs: RNR, no answer, or absent memory
//   kRingAbsent  nothing in hand; the ring is unmapped, a timer runs
//
// Waiting never blocks anybody else: the timer puts the queue pair back into the
// adapter's order of work.
//
// Owner thread only.

#pragma once

#include <cstdint>

#include "base/instant.h"
#include "base/timers.h"
#include "verbs/absence.h"
#include "verbs/queue_pair.h"
#include "verbs/transport.h"
#include "verbs/work_request.h"

namespace paravane::verbs {

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

  // For an error state: what is under way is given up; the request stays in
  // hand, to be completed by the next run().
  void stop();

  // For RESET and the end of the queue pair: forgets everything.
  void reset();

  bool has_request() const { return phase_ != Phase::kIdle && phase_ != Phase::kRingAbsent; }

  // Whether run() could do anything: no transport or timer has to speak first.
  bool can_run() const { return phase_ == Phase::kIdle || phase_ == Phase::kReady; }

 private:
  enum class Phase : std::uint8_t { kIdle, kReady, kSubmitting, kCarried, kWaiting, kRingAbsent };

  bool run_requests(Instant now, Budget& budget);
  bool take(Instant now);
  void on_absent_ring(Instant now);
  void attempt(Instant now, Budget& budget);
  void attempt_message(Instant now, Budget& budget);
  void attempt_datagram(Instant now, Budget& budget);
  // Fast registration and local invalidate: nobody else takes part.
  void attempt_registration();
  WcStatus register_fast();
  Outcome send_datagram(Budget& budget);

  void settle(const Outcome& outcome, Instant now);
  void on_no_answer(Instant now);
  void on_receiver_not_ready(const Outcome& outcome, Instant now);
  void on_absent_memory(const Outcome& outcome, Instant now);

  void complete(WcStatus status);
  void count_success(std::uint64_t bytes);

  void wait(Duration duration, Instant now, Phase phase);
  void end_wait();

  QueuePair& qp_;
  Phase phase_ = Phase::kIdle;
  bool running_ = false;         // within run()
  bool is_checked_ = false;      // check_send() has passed the request in hand
  bool ring_dead_ = false;       // until reset()
  bool awaits_answer_ = false;   // the timer is the retry timer
  bool awaits_receive_ = false;  // the timer is the RNR timer
  bool retries_exhausted_ = false;
  std::uint8_t retries_left_ = 0;
  std::uint8_t rnr_retries_left_ = 0;
  Transport* carrier_ = nullptr;  // in kSubmitting and kCarried
  TimerId timer_ = TimerId::kNone;
  Absence memory_absence_;
  Absence ring_absence_;
  SendRequest request_;
};

}  // namespace paravane::verbs
