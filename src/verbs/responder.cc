#include "verbs/responder.h"

#include <algorithm>
#include <utility>

#include "guestmem/atomic_word.h"
#include "verbs/queue_pair_impl.h"
#include "verbs/request_check.h"
#include "verbs/sge_walk.h"

namespace paravane::verbs {
namespace {

bool has_immediate(WrOpcode opcode) {
  return opcode == WrOpcode::kSendWithImm || opcode == WrOpcode::kRdmaWriteWithImm;
}

bool is_supported(WrOpcode opcode) {
  return is_send(opcode) || opcode == WrOpcode::kRdmaWrite ||
         opcode == WrOpcode::kRdmaWriteWithImm || brings_bytes(opcode);
}

Outcome refused(WcStatus status) {
  return {.kind = Outcome::Kind::kRefused, .status = status};
}

}  // namespace

bool Responder::listens() const {
  const QpState state = qp_.impl_->state;
  return state == QpState::kReadyToReceive || state == QpState::kReadyToSend ||
         state == QpState::kSendQueueDrain || state == QpState::kSendQueueError;
}

std::expected<Placement, Outcome> Responder::begin(const RemoteRequest& request, Arrives arrives) {
  QueuePair::Impl& qp = *qp_.impl_;
  end_placement();
  peer_waits_ = false;
  // By another path: what an adapter still places must not change memory after this request.
  if (lent_ > 0 && arrives != Arrives::kByLane) {
    qp.adapter.memory().loans().recall_queue_pair(qp_.number());
  }
  const auto refusal = [&](const Outcome& outcome) {
    qp_.adapter_.observe([&](Observer& observer) { tell_refusal(observer, request, outcome); });
    return std::unexpected(outcome);
  };
  if (qp.spec.type != QpType::kReliableConnected || !listens()) return refusal(kNoAnswer);
  if (qp.state == QpState::kReadyToReceive && !qp.announced_established) {
    qp.announced_established = true;
    qp.adapter.events().on_qp_event(qp.spec.tag, QpEvent::kCommunicationEstablished);
  }
  rare().request = request;
  in_packets_ = arrives == Arrives::kInPackets;
  if (in_packets_ && is_send(placed().opcode)) placed().length = 0;  // it grows
  if (const Outcome judged = judge(); !is_done(judged)) return refusal(judged);
  if (arrives != Arrives::kAtOnce) {
    if (const Outcome judged = judge_first_slice(); !is_done(judged)) return refusal(judged);
  }
  return std::expected<Placement, Outcome>(std::in_place, Placement::Key(), *this);
}

// The order of IBTA 9.7.4 and 9.9.3: is the operation one that this queue pair
// takes, is there a receive for it, does it fit, does the key allow it. A queue
// pair that was not given the right answers "invalid request"; "access error" is
// the word for keys.
Outcome Responder::judge() {
  const QpAttributes& attributes = qp_.impl_->attributes;
  const AccessMask need = remote_need(placed().opcode);
  const bool answers = brings_bytes(placed().opcode);
  const bool misplaced = is_atomic(placed().opcode) && (placed().length != kAtomicBytes ||
                                                        placed().remote_addr % kAtomicBytes != 0);
  if (!is_supported(placed().opcode) || placed().length > kMaxMessageBytes || misplaced ||
      (need & ~attributes.access) != 0 || (answers && attributes.max_dest_reads == 0)) {
    return refuse(WcStatus::kRemoteInvalidRequest, QpEvent::kRequestError);
  }
  if (consumes_receive(placed().opcode)) {
    if (const Outcome outcome = want_receive(placed().opcode); !is_done(outcome)) {
      return outcome;
    }
  }
  return is_send(placed().opcode) ? judge_receive() : judge_key();
}

Outcome Responder::judge_receive() {
  if (placed().length > receive_->sges.total_bytes()) return refuse_length();
  if (const Outcome judged = judge_invalidation(); !is_done(judged)) return judged;
  if (placed().length <= kSliceBytes) return {};  // extents() judges it, whole
  const AccessVerdict verdict = check_sges(qp_.impl_->adapter.regions(), receive_pd(),
                                           receive_->sges, placed().length, kAccessLocalWrite);
  return answer_to(verdict, placed().opcode);
}

Outcome Responder::refuse_length() {
  qp_.impl_->counters().length_errors.add();
  return fail_receive(WcStatus::kLocalLengthError, WcStatus::kRemoteInvalidRequest);
}

// IBTA 9.9.3, class J.
Outcome Responder::judge_invalidation() {
  if (placed().opcode != WrOpcode::kSendWithInvalidate ||
      qp_.impl_->adapter.regions().may_invalidate(qp_.spec().pd, placed().rkey)) {
    return {};
  }
  return fail_receive(WcStatus::kRemoteInvalidRequest, WcStatus::kRemoteAccessError);
}

// IBTA 9.7.4.1.5: the key of a request without bytes is not looked at.
Outcome Responder::judge_key() {
  if (placed().length <= kSliceBytes) return {};  // or extents() judges it, whole
  return answer_to(
      qp_.impl_->adapter.regions().check(qp_.spec().pd, placed().rkey, placed().remote_addr,
                                         placed().length, remote_need(placed().opcode)),
      placed().opcode);
}

// What judge() leaves to the extents of the first slice. An atomic that is answered from
// memory needs no key any more.
Outcome Responder::judge_first_slice() {
  const std::uint64_t bytes = std::min(placed().length, kSliceBytes);
  const bool is_judged = placed().length > kSliceBytes && placed().opcode != WrOpcode::kRdmaRead;
  if (bytes == 0 || is_judged || is_atomic(placed().opcode)) return {};
  ExtentList& scratch = qp_.impl_->adapter.scratch_front_;
  scratch.clear();
  const AccessVerdict verdict = find_bytes(placed(), {.offset = 0, .length = bytes}, scratch);
  return verdict == AccessVerdict::kOk ? Outcome{} : answer_to(verdict, placed().opcode);
}

void Responder::take_in_hand() {
  if (receive_ != nullptr) return;
  receive_ = std::move(rare_->taken.front());
  rare_->taken.erase(rare_->taken.begin());
}

WorkSource::Fetch Responder::fetch_receive(Take take) {
  std::unique_ptr<ReceiveRequest>& room = qp_.adapter_.spare_receive_;
  if (room == nullptr) room = std::make_unique<ReceiveRequest>();
  const WorkSource::Fetch fetched = (qp_.impl_->spec.work->*take)(*room);
  if (fetched == WorkSource::Fetch::kTaken) receive_ = std::move(room);
  return fetched;
}

std::uint64_t Responder::let_receive_go() {
  qp_.adapter_.spare_receive_ = std::move(receive_);
  return qp_.adapter_.spare_receive_->wr_id;
}

Responder::Rare& Responder::rare() {
  if (rare_ == nullptr) rare_ = std::make_unique<Rare>();
  return *rare_;
}

Outcome Responder::want_receive(WrOpcode opcode) {
  if (has_taken()) {
    take_in_hand();
  } else if (!ring_dead_) {
    switch (fetch_receive()) {
      case WorkSource::Fetch::kTaken: break;
      case WorkSource::Fetch::kEmpty:
        peer_waits_ = qp_.type() == QpType::kReliableConnected;
        qp_.impl_->counters().receives_missing.add();
        return {.kind = Outcome::Kind::kReceiverNotReady,
                .rnr_timer = qp_.impl_->attributes.min_rnr_timer};
      case WorkSource::Fetch::kBroken: ring_dead_ = true; break;
      case WorkSource::Fetch::kAbsent: return answer_to(AccessVerdict::kAbsent, opcode);
    }
  }
  if (receive_ == nullptr) {
    qp_.impl_->fail(QpEvent::kFatal);
    return refused(WcStatus::kRemoteOperationError);
  }
  if (receive_->fault != WcStatus::kSuccess) {
    return fail_receive(receive_->fault, WcStatus::kRemoteOperationError);
  }
  return {};
}

// Whether the receive is any good is judged when a message comes for it.
bool Responder::take_wakeup() {
  const bool came = has_taken() || (!ring_dead_ && qp_.spec().work->wait_for_receive());
  if (came) peer_waits_ = false;
  return came;
}

Outcome Responder::extents(std::uint64_t offset, std::uint64_t length, ExtentList& out) {
  const auto judged = [&] {
    if (in_packets_) {
      if (const Outcome grown = judge_growth(offset + length); !is_done(grown)) return grown;
    }
    return answer_to(find_bytes(placed(), {.offset = offset, .length = length}, out),
                     placed().opcode);
  };
  const Outcome outcome = judged();
  if (is_done(outcome)) [[likely]]
    return outcome;
  qp_.adapter_.observe([&](Observer& observer) { tell_refusal(observer, placed(), outcome); });
  return outcome;
}

// Of a message that arrives in packets, whose bytes up to `end` are there.
Outcome Responder::judge_growth(std::uint64_t end) {
  if (!is_send(placed().opcode)) {
    const bool fits = end <= placed().length;
    return fits ? Outcome{} : refuse(WcStatus::kRemoteInvalidRequest, QpEvent::kRequestError);
  }
  const std::uint64_t room =
      std::min<std::uint64_t>(receive_->sges.total_bytes(), kMaxMessageBytes);
  return end <= room ? Outcome{} : refuse_length();
}

AccessVerdict Responder::find_bytes(const RemoteRequest& request, Stretch stretch,
                                    ExtentList& out) const {
  MemoryRegionTable& regions = qp_.impl_->adapter.regions();
  if (is_send(request.opcode)) {
    return resolve_sges(regions, receive_pd(), receive_->sges, stretch, kAccessLocalWrite, out);
  }
  return regions.resolve(qp_.spec().pd, request.rkey, request.remote_addr + stretch.offset,
                         stretch.length, remote_need(request.opcode), out);
}

Outcome Responder::atomic(std::uint64_t& before) {
  DoneMemory& done = rare().done;
  if (const DoneMemory::Atomic* known = done.find_atomic(placed().serial)) {
    qp_.impl_->counters().duplicates.add();
    before = known->before;
    return {};
  }
  ExtentList& word = qp_.impl_->adapter.scratch_front_;
  word.clear();
  if (const Outcome found = extents(0, kAtomicBytes, word); !is_done(found)) {
    return found;
  }
  // First: a word that is changed must not be changed again, also when memory runs out.
  done.reserve_atomics(qp_.impl_->attributes.max_dest_reads);
  const std::optional<std::uint64_t> value = change_word(
      word.extents().front(), word_change(placed().opcode, placed().compare_add, placed().swap));
  if (!value) return memory_failed();
  before = *value;
  done.keep_atomic({.serial = placed().serial, .before = before},
                   qp_.impl_->attributes.max_dest_reads);
  return {};
}

Outcome Responder::read_extents(const RemoteRequest& read, std::uint64_t offset,
                                std::uint64_t length, ExtentList& out) {
  if (!listens()) return kNoAnswer;
  const AccessVerdict verdict = find_bytes(read, {.offset = offset, .length = length}, out);
  if (verdict == AccessVerdict::kOk) return {};
  const Outcome outcome = answer_to(verdict, WrOpcode::kRdmaRead);
  qp_.adapter_.observe([&](Observer& observer) { tell_refusal(observer, read, outcome); });
  return outcome;
}

// What the peer hears of a verdict on our memory: on a receive's buffers, or on
// what its key names.
Outcome Responder::answer_to(AccessVerdict verdict, WrOpcode opcode) {
  switch (verdict) {
    case AccessVerdict::kOk: return {};
    case AccessVerdict::kAbsent:
      return {.kind = Outcome::Kind::kMemoryAbsent, .status = WcStatus::kRemoteOperationError};
    case AccessVerdict::kFailed: return memory_failed();
    case AccessVerdict::kBadKey:
    case AccessVerdict::kOutOfRange:
    case AccessVerdict::kNoRight: break;
  }
  if (is_send(opcode)) {
    return fail_receive(WcStatus::kLocalProtectionError, WcStatus::kRemoteOperationError);
  }
  qp_.impl_->counters().remote_access_errors.add();
  return refuse(WcStatus::kRemoteAccessError, QpEvent::kAccessError);
}

Outcome Responder::memory_failed() {
  qp_.impl_->fail(QpEvent::kFatal);
  return refused(WcStatus::kRemoteOperationError);
}

// IBTA 9.9.3, class C: no receive tells the program of it, so an event does, and
// the queue pair goes to ERR.
Outcome Responder::refuse(WcStatus status, QpEvent event) {
  if (event == QpEvent::kRequestError) qp_.impl_->counters().remote_request_errors.add();
  qp_.impl_->fail(event);
  return refused(status);
}

// IBTA 9.9.3, class A: the receive completes in error, and the queue pair goes
// to ERR.
Outcome Responder::fail_receive(WcStatus ours, WcStatus peers) {
  QueuePair::Impl& qp = *qp_.impl_;
  ++qp.stats.errors;
  qp.counters().completion_errors.add();
  qp.counters().receive_errors.add();
  qp.push(*qp.spec.receive_cq, completion_of(let_receive_go(), ours));
  qp.enter_error();
  return refused(peers);
}

// IBTA 10.2.9: of a shared receive queue, the queue's own and not the queue pair's.
PdNumber Responder::receive_pd() const {
  const QueuePairSpec& spec = qp_.impl_->spec;
  return spec.shared_receives ? *spec.shared_receives : spec.pd;
}

Completion Responder::completion_of(std::uint64_t wr_id, WcStatus status) const {
  return {.wr_id = wr_id,
          .qp_tag = qp_.impl_->spec.tag,
          .opcode = WcOpcode::kReceive,
          .status = status,
          .behind = rare_ != nullptr ? static_cast<std::uint32_t>(rare_->taken.size()) : 0};
}

Outcome Responder::finish(const MessageEnd& end) {
  peer_waits_ = false;
  if (const Outcome outcome = take_end(end); !is_done(outcome)) {
    qp_.adapter_.observe([&](Observer& observer) { tell_refusal(observer, placed(), outcome); });
    return outcome;
  }
  end_placement();
  return finish();
}

// What the last packet says is judged as begin() would have judged it. If it has to come again,
// the request is as it was.
Outcome Responder::take_end(const MessageEnd& end) {
  const bool sends = is_send(placed().opcode);
  const bool matches =
      sends ? is_send(end.opcode)
            : end.opcode == WrOpcode::kRdmaWrite || end.opcode == WrOpcode::kRdmaWriteWithImm;
  if (!matches || (!sends && end.length != placed().length)) {
    return refuse(WcStatus::kRemoteInvalidRequest, QpEvent::kRequestError);
  }
  if (const Outcome grown = judge_growth(end.length); !is_done(grown)) return grown;
  if (end.opcode == WrOpcode::kRdmaWriteWithImm) {
    if (const Outcome outcome = want_receive(end.opcode); !is_done(outcome)) return outcome;
  }
  placed().opcode = end.opcode;
  placed().length = end.length;
  placed().solicited = end.solicited;
  placed().imm = end.imm;
  if (sends) placed().rkey = end.invalidated_key;
  return judge_invalidation();
}

Outcome Responder::finish() {
  qp_.adapter_.observe([&](Observer& observer) { tell_placed(observer); });
  const Outcome outcome = deliver(placed(), Reveal::kNow);
  qp_.adapter_.observe([&](Observer& observer) { tell_answer(observer, outcome); });
  return outcome;
}

void Responder::count(WrOpcode opcode, std::uint64_t bytes, std::uint64_t requests) {
  QueuePair::Impl& qp = *qp_.impl_;
  AdapterCounters& counters = qp.counters();
  qp.stats.receives += requests;
  counters.receives.add(requests);
  if (brings_bytes(opcode)) {
    (is_atomic(opcode) ? counters.atomics_answered : counters.reads_answered).add(requests);
    counters.read_bytes.add(bytes);
    return;
  }
  if (!is_send(opcode)) counters.writes_answered.add(requests);
  qp.stats.received_bytes += bytes;
  counters.received_bytes.add(bytes);
}

bool Responder::takes_directly() const {
  const bool heard = qp_.state() != QpState::kReadyToReceive || qp_.impl_->announced_established;
  return listens() && heard && !busy() && !peer_waits_ && lent_ == 0;
}

AccessMask Responder::direct_rights() const {
  const QpAttributes& attributes = qp_.impl_->attributes;
  const AccessMask answering = kAccessRemoteRead | kAccessRemoteAtomic;
  return attributes.max_dest_reads == 0 ? attributes.access & ~answering : attributes.access;
}

std::optional<Extent> Responder::receive_directly(std::uint64_t length, RegionView& view) {
  QueuePair::Impl& qp = *qp_.impl_;
  if (has_taken()) {
    take_in_hand();
  } else {
    if (ring_dead_) return std::nullopt;
    const WorkSource::Fetch fetched = fetch_receive(&WorkSource::take_receive_in_passing);
    if (fetched != WorkSource::Fetch::kTaken) return std::nullopt;
  }
  const Sge& sge = receive_->sges.entries[0];
  const bool fits =
      receive_->fault == WcStatus::kSuccess && receive_->sges.count == 1 && length <= sge.length;
  if (!fits) return std::nullopt;
  return view.find_extent(qp.adapter.regions(), receive_pd(), sge.lkey, sge.addr, length,
                          kAccessLocalWrite);
}

Outcome Responder::deliver(const RemoteRequest& request, Reveal when) {
  QueuePair::Impl& qp = *qp_.impl_;
  count(request.opcode, request.length);
  if (!consumes_receive(request.opcode)) return {};

  Completion completion = completion_of(let_receive_go(), WcStatus::kSuccess);
  if (!is_send(request.opcode)) completion.opcode = WcOpcode::kReceiveRdmaWithImm;
  completion.with_imm = has_immediate(request.opcode);
  if (completion.with_imm) completion.imm = request.imm;
  if (request.opcode == WrOpcode::kSendWithInvalidate) {
    // Checked by begin(); another request may have invalidated it since.
    MemoryRegionTable& regions = qp.adapter.regions();
    if (regions.may_invalidate(qp.spec.pd, request.rkey)) regions.invalidate(request.rkey);
    completion.invalidated_key = request.rkey;
  }
  completion.solicited = request.solicited;
  completion.byte_len = static_cast<std::uint32_t>(request.length);
  completion.source_qpn = request.source_qpn;
  completion.service_level = qp.attributes.av.service_level;
  qp.push(*qp.spec.receive_cq, completion, when);
  // The bytes are in place, but will never be reported.
  return qp.state == QpState::kError ? refused(WcStatus::kRemoteOperationError) : Outcome{};
}

bool Responder::flush(Instant now, Budget& budget) {
  const QueuePair::Impl& qp = *qp_.impl_;
  if (qp.spec.shared_receives) {
    flush_shared(budget);
    return false;
  }
  while (!budget.spent()) {
    if (has_taken()) {
      take_in_hand();
    } else {
      if (ring_dead_ || flush_timer_ != TimerId::kNone) return false;
      switch (fetch_receive()) {
        case WorkSource::Fetch::kTaken: break;
        case WorkSource::Fetch::kEmpty: ring_absence_.clear(); return false;
        case WorkSource::Fetch::kBroken: ring_dead_ = true; return false;
        case WorkSource::Fetch::kAbsent: wait_for_ring(now); return false;
      }
      ring_absence_.clear();
    }
    complete_flushed(budget);
  }
  return true;
}

void Responder::complete_flushed(Budget& budget) {
  QueuePair::Impl& qp = *qp_.impl_;
  budget.operations -= 1;
  qp.counters().flushed.add();
  qp.counters().flushed_receives.add();
  qp.push(*qp.spec.receive_cq, completion_of(let_receive_go(), WcStatus::kFlushed));
}

// IBTA 11.6.3.1: only what was taken is flushed; the program hears when that is over.
void Responder::flush_shared(Budget& budget) {
  while (has_taken()) {
    take_in_hand();
    complete_flushed(budget);
  }
  if (std::exchange(told_last_, true)) return;
  qp_.impl_->adapter.events().on_qp_event(qp_.spec().tag, QpEvent::kLastReceiveReached);
}

void Responder::wait_for_ring(Instant now) {
  const auto next_look = ring_absence_.next_look(now);
  if (!next_look) {
    ring_dead_ = true;
    return;
  }
  flush_timer_ = qp_.impl_->adapter.timers().set(now + *next_look, [this](Instant) {
    flush_timer_ = TimerId::kNone;
    qp_.kick();
  });
}

void Responder::stop() {
  qp_.adapter_.memory().loans().recall_queue_pair(qp_.number());
  end_placement();
  peer_waits_ = false;
  if (rare_ == nullptr) return;
  for (Arrival& arrival : rare_->arrivals) {
    rare_->taken.push_back(std::move(arrival.receive));
  }
  rare_->arrivals.clear();
}

void Responder::reset() {
  stop();
  rare_.reset();
  receive_.reset();
  ring_dead_ = false;
  told_last_ = false;
  ring_absence_.clear();
  qp_.impl_->adapter.timers().cancel(flush_timer_);
  flush_timer_ = TimerId::kNone;
}

}  // namespace paravane::verbs
