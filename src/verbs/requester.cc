#include "verbs/requester.h"

#include <algorithm>
#include <cassert>

#include "base/undo.h"
#include "verbs/ack_timing.h"
#include "verbs/fast_datagrams.h"
#include "verbs/fast_path.h"
#include "verbs/queue_pair_impl.h"
#include "verbs/request_check.h"

namespace paravane::verbs {
namespace {

constexpr std::uint8_t kRnrRetryForEver = 7;

// With a timeout of 0 a connection waits for ever; we look now and then whether
// the peer has come.
constexpr Duration kLookForPeer = std::chrono::milliseconds(64);

// How soon the next try follows while the peer's host is waited for. It announces itself when it is
// there, but a path that is being learnt does not.
constexpr Duration kLookForHeld = std::chrono::milliseconds(16);

// The waits of one adapter come due at most 250,000 times a second together:
// thousands of queue pairs with the shortest timers must not fill a worker.
constexpr Duration kWaitPerWaiter = std::chrono::microseconds(4);

// Copying and checking so many page addresses, or finding so many pieces of memory, costs
// about what another request does.
constexpr std::uint64_t kPiecesPerOperation = 16;
constexpr std::uint64_t kMostPieces = 512;  // pages beyond are refused unseen

std::int32_t operations_of(std::uint64_t pieces) {
  return static_cast<std::int32_t>(std::min(pieces, kMostPieces) / kPiecesPerOperation);
}

}  // namespace

bool Requester::run(Instant now, Budget& budget) {
  running_ = true;
  const bool more = run_requests(now, budget);
  running_ = false;
  qp_.spec().send_cq->reveal();
  return more;
}

bool Requester::run_requests(Instant now, Budget& budget) {
  if (run_fast(now, budget)) return false;
  while (!budget.spent() && can_run()) {
    const QpState state = qp_.state();
    const bool flushing = state == QpState::kError || state == QpState::kSendQueueError;
    if (!has_in_hand()) {
      if (!flushing && state != QpState::kReadyToSend) return false;
      if (!has_room()) {
        step(Event::kBlock);
        return false;
      }
      if (!take(now)) return false;
    }
    const std::uint64_t touched = qp_.impl_->adapter.regions().touched();
    budget.operations -= 1;
    if (flushing) {
      complete(WcStatus::kFlushed);
    } else {
      attempt(now, budget);
    }
    budget.operations -= operations_of(qp_.impl_->adapter.regions().touched() - touched);
  }
  return can_run();
}

bool Requester::run_fast(Instant now, Budget& budget) {
  if (taken_ > 0 || filter_ != nullptr || ring_dead_) return false;
  if (qp_.type() == QpType::kReliableConnected) {
    FastPath path(qp_);
    return run_over(path, now, budget);
  }
  FastDatagrams path(qp_);
  return run_over(path, now, budget);
}

template <typename Fast>
bool Requester::run_over(Fast& path, Instant now, Budget& budget) {
  while (path.is_open() && qp_.state() == QpState::kReadyToSend && can_run() && !budget.spent()) {
    SendRequest& request = qp_.adapter_.scratch_request_;
    const WorkSource::Fetch fetched = qp_.spec().work->peek_send(request);
    if (fetched == WorkSource::Fetch::kAbsent || fetched == WorkSource::Fetch::kBroken)
      return false;
    ring_absence_.clear();
    if (fetched == WorkSource::Fetch::kEmpty) return true;
    const std::optional<Outcome> outcome = path.carry(request);
    if (!outcome) return false;
    qp_.spec().work->pass_send();
    const std::uint64_t bytes = request.sges.entries[0].length;  // what is carried has one piece
    budget.operations -= 1;
    budget.bytes -= static_cast<std::int64_t>(bytes);
    if (is_done(*outcome)) {
      report_success(request, bytes);
    } else {
      keep(request);
      begin_attempt();
      settle(*outcome, now);
    }
  }
  return false;
}

bool Requester::has_room() const {
  if (carried_ == 0) return true;
  return carried_ < carrier_->depth() &&
         (taken_ < window_.slots() || qp_.impl_->adapter.window_slots_ < kMaxWindowSlots);
}

void Requester::keep(const SendRequest& request) {
  if (taken_ == window_.slots()) {
    window_.add_slot();
    if (window_.extra_slots() > 0) ++qp_.adapter_.window_slots_;
  }
  window_.slot(taken_++) = request;
}

bool Requester::take(Instant now) {
  if (ring_dead_) return false;
  SendRequest& request = qp_.adapter_.scratch_request_;
  switch (qp_.spec().work->take_send(request)) {
    case WorkSource::Fetch::kTaken: break;
    case WorkSource::Fetch::kEmpty: ring_absence_.clear(); return false;
    case WorkSource::Fetch::kBroken:
      ring_dead_ = true;
      qp_.impl_->fail(QpEvent::kFatal);
      return false;
    case WorkSource::Fetch::kAbsent: on_absent_ring(now); return false;
  }
  request.serial = ++qp_.impl_->adapter.last_serial_;
  keep(request);
  ring_absence_.clear();
  is_checked_ = false;
  if (taken_ == 1) begin_attempt();
  return true;
}

// Of the oldest request.
void Requester::begin_attempt() {
  const QpAttributes& attributes = qp_.impl_->attributes;
  attempt_ = {.retries_left = attributes.retry_count, .rnr_retries_left = attributes.rnr_retry};
  memory_absence_.clear();
}

void Requester::on_absent_ring(Instant now) {
  if (const auto next_look = ring_absence_.next_look(now)) {
    wait(Event::kAwaitRing, *next_look, now);
  } else {
    ring_dead_ = true;
    qp_.impl_->fail(QpEvent::kFatal);
  }
}

bool Requester::blocked_by_others() {
  if (carried_ == 0) return false;
  step(Event::kBlock);
  return true;
}

void Requester::attempt(Instant now, Budget& budget) {
  QueuePair::Impl& qp = *qp_.impl_;
  if (attempt_.next != NextTry::kPlain) return attempt_specially(now, budget);
  const SendRequest& request = in_hand();
  if (!is_checked_) {
    const WcStatus status =
        check_send(qp.spec.type, qp.attributes, qp.spec.pd, qp.adapter.regions(), request);
    if (status != WcStatus::kSuccess) {
      if (!blocked_by_others()) complete(status);
      return;
    }
    is_checked_ = true;
  }
  if (is_registration(request.opcode)) {
    if (!blocked_by_others()) attempt_registration(budget);
  } else if (qp.spec.type == QpType::kReliableConnected) {
    attempt_message(now, budget);
  } else {
    attempt_datagram(now, budget);
  }
}

void Requester::attempt_specially(Instant now, Budget& budget) {
  if (attempt_.next == NextTry::kNone) return complete(WcStatus::kRetryExceeded);
  const Path* path = qp_.path();
  qp_.adapter_.observe([&](Observer& observer) { tell_try(observer); });
  if (path == nullptr) return on_no_path(now);
  carrier_ = path->transport;
  step(Event::kSubmit);
  const std::optional<Outcome> outcome = carrier_->submit_again(qp_, *path, in_hand(), budget);
  step(Event::kReturned);
  if (outcome) return settle(*outcome, now);
  attempt_.next = NextTry::kPlain;  // of those that follow
  note_carried();
}

// IBTA 10.8.3.2 (the fence), 9.7.3.3 (how many READs and atomics may be outstanding).
bool Requester::may_follow(const SendRequest& request) const {
  if (request.fence && carried_reads_ > 0) return false;
  return !brings_bytes(request.opcode) || carried_reads_ < qp_.impl_->attributes.max_reads;
}

void Requester::attempt_message(Instant now, Budget& budget) {
  const Path* path = qp_.path();
  if (carried_ > 0 && (path == nullptr || path->transport != carrier_ || !may_follow(in_hand()))) {
    return step(Event::kBlock);
  }
  qp_.adapter_.observe([&](Observer& observer) { tell_try(observer); });
  if (path == nullptr) return on_no_path(now);
  carrier_ = path->transport;
  step(Event::kSubmit);
  const std::optional<Outcome> outcome = carrier_->submit(qp_, *path, in_hand(), budget);
  step(Event::kReturned);
  if (outcome) {
    if (!blocked_by_others()) settle(*outcome, now);
    return;
  }
  note_carried();
}

void Requester::note_carried() {
  if (qp_.state() == QpState::kError) return carrier_->cancel(qp_);  // we were our own peer
  if (brings_bytes(in_hand().opcode)) ++carried_reads_;
  ++carried_;
  is_checked_ = false;
}

void Requester::attempt_registration(Budget& budget) {
  if (in_hand().opcode == WrOpcode::kFastRegister) {
    budget.operations -= operations_of(in_hand().registration.pages);
    return complete(register_fast());
  }
  MemoryRegionTable& regions = qp_.impl_->adapter.regions();
  if (!regions.may_invalidate(qp_.spec().pd, in_hand().rkey)) {
    return complete(WcStatus::kMemoryWindowBindError);
  }
  regions.invalidate(in_hand().rkey);
  complete(WcStatus::kSuccess);
}

// The page list is copied now: the guest writes the next one into the same pages.
WcStatus Requester::register_fast() {
  const FastRegistration& wanted = in_hand().registration;
  Adapter& adapter = qp_.impl_->adapter;
  if (!adapter.regions().may_register(qp_.spec().pd, wanted.key, wanted.pages)) {
    return WcStatus::kMemoryWindowBindError;
  }
  Result<PageList> pages = PageList::from_directory(adapter.memory(), {wanted.directory},
                                                    wanted.pages, needed_rights(wanted.access));
  if (!pages) return WcStatus::kMemoryWindowBindError;
  return adapter.regions().register_fast(wanted, std::move(*pages))
             ? WcStatus::kSuccess
             : WcStatus::kMemoryWindowBindError;
}

void Requester::on_outcome(const Outcome& told, Instant now) {
  if (carried_ == 0) return;
  const Outcome outcome = filter_ != nullptr ? filter_->filter(qp_, told) : told;
  const Undo kick([this] { qp_.kick(); });  // also when memory runs out: the turn is not our own
  if (is_done(outcome)) {
    step_out(Event::kDone);
    qp_.adapter_.observe([&](Observer& observer) { tell_answer(observer, outcome); });
    --carried_;
    if (brings_bytes(window_.oldest().opcode)) --carried_reads_;
    complete(WcStatus::kSuccess);
  } else {
    step_out(Event::kFailed);
    give_back_carried();
    settle(outcome, now);
  }
}

// The transport has forgotten them; the oldest is in hand again.
void Requester::give_back_carried() {
  carried_ = 0;
  carried_reads_ = 0;
  is_checked_ = false;
  attempt_.next = attempt_.answer_lost ? NextTry::kOnlyAnswer : NextTry::kPlain;
}

void Requester::settle(const Outcome& outcome, Instant now) {
  const bool may_wait = qp_.state() != QpState::kError;  // else it is flushed by run()
  qp_.adapter_.observe([&](Observer& observer) { tell_answer(observer, outcome); });
  if (outcome.kind != Outcome::Kind::kMemoryAbsent) memory_absence_.clear();
  switch (outcome.kind) {
    case Outcome::Kind::kDone: return complete(WcStatus::kSuccess);
    case Outcome::Kind::kRefused:
    case Outcome::Kind::kLocalError: return complete(outcome.status);
    case Outcome::Kind::kAnswerLost:
      attempt_.answer_lost = true;
      attempt_.next = NextTry::kOnlyAnswer;
      [[fallthrough]];
    case Outcome::Kind::kNoAnswer:
      if (may_wait) on_no_answer(outcome, now);
      return;
    case Outcome::Kind::kReceiverNotReady:
      if (may_wait) on_receiver_not_ready(outcome, now);
      return;
    case Outcome::Kind::kMemoryAbsent:
      if (may_wait) on_absent_memory(outcome, now);
      return;
  }
}

// IBTA 9.7.5.2.3: after the last retry an answer is waited for as long again.
void Requester::on_no_answer(const Outcome& outcome, Instant now) {
  if (outcome.wait == Outcome::Wait::kWaited) return spend_retry();
  if (outcome.wait == Outcome::Wait::kHeld) {
    return wait(Event::kAwaitPeer, kLookForHeld, now);
  }
  const Duration timeout = ack_timeout(qp_.impl_->attributes.timeout);
  if (timeout == Duration::zero()) return wait(Event::kAwaitPeer, kLookForPeer, now);
  if (qp_.adapter_.is_settling(now)) {
    return wait(Event::kAwaitPeer, std::min<Duration>(timeout, kLookForPeer), now);
  }
  wait(Event::kAwaitAnswer, timeout, now);
}

void Requester::on_no_path(Instant now) {
  on_no_answer(qp_.impl_->adapter.fabric().is_learning() ? kHeld : kNoAnswer, now);
}

void Requester::on_receiver_not_ready(const Outcome& outcome, Instant now) {
  QueuePair::Impl& qp = *qp_.impl_;
  attempt_.retries_left = qp.attributes.retry_count;  // it was an answer
  if (qp.attributes.rnr_retry != kRnrRetryForEver) {
    if (attempt_.rnr_retries_left == 0) return complete(WcStatus::kRnrRetryExceeded);
    --attempt_.rnr_retries_left;
  }
  ++qp.stats.rnr_waits;
  qp.counters().rnr_waits.add();
  wait(Event::kAwaitReceive, rnr_wait(outcome.rnr_timer), now);
}

void Requester::on_peer_ready() {
  hear(Event::kPeerReady);
}

// What waits for an answer need not wait for its timer.
void Requester::on_path_back() {
  hear(Event::kPathBack);
}

void Requester::on_absent_memory(const Outcome& outcome, Instant now) {
  if (const auto next_look = memory_absence_.next_look(now)) {
    wait(Event::kAwaitMemory, *next_look, now);
  } else {
    complete(outcome.status);
  }
}

void Requester::complete(WcStatus status) {
  QueuePair::Impl& qp = *qp_.impl_;
  const SendRequest& request = window_.oldest();
  if (status == WcStatus::kSuccess) {
    report_success(request, request.sges.total_bytes());
    drop_oldest();
    return qp.note_drained();
  }
  const Completion completion = completion_of(request, status);
  drop_oldest();
  if (status == WcStatus::kFlushed) {
    qp.counters().flushed.add();
    qp.push(*qp.spec.send_cq, completion);
    return;
  }
  ++qp.stats.errors;
  qp.counters().completion_errors.add();
  if (status == WcStatus::kLocalProtectionError) qp.counters().local_protection_errors.add();
  if (status == WcStatus::kLocalQpOperationError) qp.counters().malformed_requests.add();
  if (status == WcStatus::kRemoteAccessError) qp.counters().refused_access.add();
  if (status == WcStatus::kRemoteInvalidRequest) qp.counters().refused_requests.add();
  qp.push(*qp.spec.send_cq, completion);
  if (status == WcStatus::kFatal) return qp.fail(QpEvent::kFatal);
  qp.send_failed();
}

// The request is the oldest of the window, or was not put into it, which is empty then.
Completion Requester::completion_of(const SendRequest& request, WcStatus status) const {
  return {.wr_id = request.wr_id,
          .qp_tag = qp_.spec().tag,
          .opcode = completion_opcode(request.opcode),
          .status = status,
          .behind = taken_ > 0 ? taken_ - 1 : 0};
}

void Requester::report_success(const SendRequest& request, std::uint64_t bytes) {
  QueuePair::Impl& qp = *qp_.impl_;
  count_success(request.opcode, bytes);
  if (!request.signaled && !qp.spec.signal_all) return;
  Completion completion = completion_of(request, WcStatus::kSuccess);
  completion.byte_len = static_cast<std::uint32_t>(bytes);
  qp.push(*qp.spec.send_cq, completion, running_ ? Reveal::kSoon : Reveal::kNow);
}

void Requester::drop_oldest() {
  if (window_.drop_oldest()) --qp_.impl_->adapter.window_slots_;
  --taken_;
  is_checked_ = false;
  if (taken_ > 0) begin_attempt();
}

void Requester::count_success(WrOpcode opcode, std::uint64_t bytes) {
  QueuePair::Impl& qp = *qp_.impl_;
  ++qp.stats.sends;
  qp.counters().sends.add();
  if (brings_bytes(opcode)) {
    qp.counters().fetched_bytes.add(bytes);
    return;
  }
  qp.stats.sent_bytes += bytes;
  qp.counters().sent_bytes.add(bytes);
}

void Requester::step(Event event) {
  assert(next_phase(phase_, event));
  phase_ = step_from(phase_, event);
}

void Requester::wait(Event event, Duration duration, Instant now) {
  QueuePair::Impl& qp = *qp_.impl_;
  const Duration shortest = (qp.adapter.waiting_ + 1) * kWaitPerWaiter;
  // First, because a wait without a timer would not end.
  timer_ = qp.adapter.timers().set(now + std::max(duration, shortest),
                                   [this](Instant) { hear(Event::kTimer); });
  step(event);
  ++qp.adapter.waiting_;
}

void Requester::end_wait(Event event) {
  const Phase waited = phase_;
  step(event);
  --qp_.impl_->adapter.waiting_;
  qp_.impl_->adapter.timers().cancel(timer_);
  timer_ = TimerId::kNone;
  if (waited == Phase::kAwaitsAnswer && event != Event::kPathBack) spend_retry();
}

// The wait for the ring goes on while what is carried gets done.
void Requester::step_out(Event event) {
  if (is_wait(phase_) && next_phase(phase_, event) != phase_) return end_wait(event);
  step(event);
}

void Requester::hear(Event event) {
  if (next_phase(phase_, event) == phase_) return;
  end_wait(event);
  qp_.kick();
}

void Requester::spend_retry() {
  if (attempt_.retries_left == 0) {
    attempt_.next = NextTry::kNone;
    return;
  }
  --attempt_.retries_left;
  ++qp_.impl_->stats.retries;
  qp_.impl_->counters().retries.add();
}

void Requester::stop() {
  step_out(Event::kStop);
  if (carried_ > 0) carrier_->cancel(qp_);
  give_back_carried();
}

void Requester::reset() {
  stop();
  qp_.impl_->adapter.window_slots_ -= static_cast<std::uint32_t>(window_.extra_slots());
  window_.clear();
  taken_ = 0;
  ring_dead_ = false;
  ring_absence_.clear();
  memory_absence_.clear();
}

}  // namespace paravane::verbs
