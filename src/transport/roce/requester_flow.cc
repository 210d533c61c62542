#include "transport/roce/requester_flow.h"

#include <algorithm>
#include <functional>
#include <span>

#include "base/wire_int.h"
#include "guestmem/payload.h"
#include "transport/roce/opcode_facts.h"
#include "verbs/request_check.h"

namespace paravane::transport_roce {

using verbs::Outcome;
using verbs::Psn;
using verbs::WcStatus;
using verbs::WrOpcode;
using wire::roce::NakCode;
using wire::roce::Opcode;
using wire::roce::Packet;

namespace {

// So that a window of packets is not acknowledged by its last alone.
constexpr std::uint32_t kAckEvery = 32;

// Packets of several requests together.
constexpr std::uint32_t kMostNumbered = 1u << 22;

// A syndrome's kind (IBTA table 45).
constexpr std::uint8_t kKindMask = 0x60;
constexpr std::uint8_t kValueMask = 0x1F;
constexpr std::uint8_t kIsNotReady = 0x20;
constexpr std::uint8_t kIsNak = 0x60;

bool has_immediate(WrOpcode opcode) {
  return opcode == WrOpcode::kSendWithImm || opcode == WrOpcode::kRdmaWriteWithImm;
}

Opcode send_opcode(WrOpcode opcode, bool is_first, bool is_last) {
  if (!is_last) return is_first ? Opcode::kSendFirst : Opcode::kSendMiddle;
  if (has_immediate(opcode)) return is_first ? Opcode::kSendOnlyImm : Opcode::kSendLastImm;
  if (opcode == WrOpcode::kSendWithInvalidate) {
    return is_first ? Opcode::kSendOnlyInvalidate : Opcode::kSendLastInvalidate;
  }
  return is_first ? Opcode::kSendOnly : Opcode::kSendLast;
}

Opcode write_opcode(WrOpcode opcode, bool is_first, bool is_last) {
  if (!is_last) return is_first ? Opcode::kWriteFirst : Opcode::kWriteMiddle;
  if (has_immediate(opcode)) return is_first ? Opcode::kWriteOnlyImm : Opcode::kWriteLastImm;
  return is_first ? Opcode::kWriteOnly : Opcode::kWriteLast;
}

Outcome refused(WcStatus status) {
  return {.kind = Outcome::Kind::kRefused, .status = status};
}

}  // namespace

void RequesterFlow::start(Psn first) {
  state_ = {.started = true, .unanswered = first, .sent = first, .end = first};
  next_ = first;
}

std::uint32_t RequesterFlow::packets_of(const verbs::SendRequest& request) const {
  return verbs::is_atomic(request.opcode) ? 1 : facts_.packets_of(request.sges.total_bytes());
}

// What follows the oldest comes in the order in which it was sent.
bool RequesterFlow::is_oldest_sent(const verbs::SendRequest& request) const {
  return request.serial == state_.oldest &&
         state_.unanswered.steps_from(state_.end) < packets_of(request);
}

// Numbers are told apart only within half of what there are.
bool RequesterFlow::has_room_for(const verbs::SendRequest& request) const {
  if (requests_.empty()) return true;
  const auto numbered =
      static_cast<std::uint32_t>(state_.end.distance_from(requests_.front().first));
  return numbered + facts_.packets_of(request.sges.total_bytes()) <= kMostNumbered;
}

void RequesterFlow::submit(const verbs::SendRequest& request, Instant now) {
  const std::uint64_t length = request.sges.total_bytes();
  const std::uint32_t packets = packets_of(request);
  if (requests_.empty()) {
    progress_ = now;
    set_deadline(now);
  }
  requests_.push_back(
      {.request = &request, .first = state_.end, .packets = packets, .length = length});
  if (verbs::brings_bytes(request.opcode)) ++fetches_;
  state_.end = state_.end.plus(packets);
}

void RequesterFlow::give_back() {
  ++ends_;
  if (!requests_.empty()) {
    state_.end = requests_.front().first;
    state_.oldest = requests_.front().request->serial;
  }
  next_ = state_.unanswered;
  is_silent_ = false;
  requests_.clear();
  share_.set(0);
  fetches_ = 0;
  is_known_ = false;
  failed_.reset();
  timed_.reset();
}

void RequesterFlow::cancel() {
  give_back();
}

void RequesterFlow::give_up(Instant now) {
  if (!requests_.empty()) fail(verbs::kNoAnswer, now);
}

std::size_t RequesterFlow::index_of(Psn psn) const {
  if (requests_.empty() || psn.is_before(requests_.front().first)) return requests_.size();
  const auto is_later = [psn](const Outgoing& outgoing) { return psn.is_before(outgoing.first); };
  const auto next = std::ranges::partition_point(requests_, std::not_fn(is_later));
  const auto index = static_cast<std::size_t>(next - requests_.begin()) - 1;
  return psn.is_before(requests_[index].last().next()) ? index : requests_.size();
}

const RequesterFlow::Outgoing* RequesterFlow::find(Psn psn) const {
  const std::size_t index = index_of(psn);
  return index < requests_.size() ? &requests_[index] : nullptr;
}

// Packets of ours that were not answered. A READ or an atomic is one, however long its answer.
std::uint32_t RequesterFlow::under_way() const {
  if (fetches_ == 0) {
    return static_cast<std::uint32_t>(std::max(next_.distance_from(state_.unanswered), 0));
  }
  std::uint32_t count = 0;
  for (const Outgoing& outgoing : requests_) {
    if (!outgoing.first.is_before(next_)) break;
    const auto sent = static_cast<std::uint32_t>(next_.distance_from(outgoing.first));
    const auto answered =
        static_cast<std::uint32_t>(std::max(state_.unanswered.distance_from(outgoing.first), 0));
    const std::uint32_t most = std::min(sent, outgoing.packets);
    count += outgoing.brings_bytes() ? 1 : most - std::min(answered, most);
  }
  return count;
}

bool RequesterFlow::compose(Outlet& outlet, verbs::Budget& budget, Instant now) {
  if (!has_to_send()) return true;
  const bool has_room = send_packets(outlet, budget, now);
  count();
  return has_room;
}

bool RequesterFlow::send_packets(Outlet& outlet, verbs::Budget& budget, Instant now) {
  std::uint32_t room = std::min(retransmission_.window() - under_way(), share_.room());
  std::size_t at = index_of(next_);
  while (room > 0 && next_.is_before(state_.end) && !budget.spent()) {
    if (at == requests_.size()) break;  // it waits to be submitted again
    const Outgoing& outgoing = requests_[at];
    const Psn psn = next_;
    switch (send_next(outgoing, room == 1, outlet, budget)) {
      case Outlet::Added::kDone: break;
      case Outlet::Added::kFull: return false;
      case Outlet::Added::kMemoryFailed: tell_stuck(now); return true;
    }
    note_sent(psn, now);
    --room;
    if (awaits_part()) break;
    if (outgoing.last().is_before(next_)) ++at;
  }
  return true;
}

// Sends the packet next_, and moves it on. The last packet that the window allows asks for an
// acknowledgement, without which nothing could follow.
Outlet::Added RequesterFlow::send_next(const Outgoing& outgoing, bool fills_window, Outlet& outlet,
                                       verbs::Budget& budget) {
  const auto number = static_cast<std::uint32_t>(next_.distance_from(outgoing.first));
  const std::uint32_t fetched = outgoing.brings_bytes() ? packets_to_fetch(outgoing) : 0;
  scratch_.clear();
  Packet packet =
      fetched > 0 ? fetch_packet(outgoing, number, fetched) : data_packet(outgoing, number);
  packet.wants_ack = packet.wants_ack || fills_window;
  if (packet.payload_bytes > 0) {
    const Outcome found = qp_.gather(*outgoing.request, std::uint64_t{number} * facts_.mtu,
                                     packet.payload_bytes, 0, scratch_);
    if (!is_done(found)) {
      failed_ = {.serial = outgoing.request->serial, .outcome = found};
      return Outlet::Added::kMemoryFailed;
    }
  }
  const Outlet::Added added = outlet.add(packet, scratch_);
  if (added == Outlet::Added::kMemoryFailed) {
    failed_ = {.serial = outgoing.request->serial,
               .outcome = {.kind = Outcome::Kind::kLocalError, .status = WcStatus::kFatal}};
  }
  if (added != Outlet::Added::kDone) return added;
  budget.bytes -= std::max<std::int64_t>(packet.payload_bytes, 1);
  budget.operations -= 1;
  next_ = next_.plus(std::max(fetched, 1u));
  is_in_read_ = fetched > 0 && !outgoing.last().is_before(next_);
  return added;
}

Packet RequesterFlow::data_packet(const Outgoing& outgoing, std::uint32_t number) const {
  const verbs::SendRequest& request = *outgoing.request;
  const bool is_first = number == 0;
  const bool is_last = number + 1 == outgoing.packets;
  const Opcode opcode = verbs::is_send(request.opcode)
                            ? send_opcode(request.opcode, is_first, is_last)
                            : write_opcode(request.opcode, is_first, is_last);
  Packet packet = facts_.packet(opcode, outgoing.first.plus(number));
  packet.payload_bytes = outgoing.length == 0 ? 0 : facts_.bytes_of(outgoing.length, number);
  packet.wants_ack = is_last || (number + 1) % kAckEvery == 0;
  packet.solicited = is_last && request.solicited;
  packet.address = request.remote_addr;
  packet.rkey = request.rkey;
  packet.length = static_cast<std::uint32_t>(outgoing.length);
  packet.immediate = request.imm;
  packet.invalidated_key = request.rkey;
  return packet;
}

// IBTA 9.7.5.1.3: what is asked for again is part of one request that the peer has.
std::uint32_t RequesterFlow::packets_to_fetch(const Outgoing& outgoing) const {
  const bool is_again = next_.is_before(state_.sent);
  const bool was_cut = is_again && !outgoing.last().is_before(state_.sent);
  const Psn end = was_cut ? state_.sent : outgoing.last().next();
  const auto packets = static_cast<std::uint32_t>(end.distance_from(next_));
  const bool may_be_cut = !is_again || (is_known_ && next_ == state_.unanswered);
  return may_be_cut ? std::min(packets, parts_.packets()) : packets;
}

// A READ, for `packets` of its answer from `number` on; or an atomic.
Packet RequesterFlow::fetch_packet(const Outgoing& outgoing, std::uint32_t number,
                                   std::uint32_t packets) const {
  const verbs::SendRequest& request = *outgoing.request;
  const bool swaps = request.opcode == WrOpcode::kCompareAndSwap;
  const Opcode opcode = request.opcode == WrOpcode::kRdmaRead
                            ? Opcode::kReadRequest
                            : (swaps ? Opcode::kCompareSwap : Opcode::kFetchAdd);
  const std::uint64_t skipped = std::uint64_t{number} * facts_.mtu;
  Packet packet = facts_.packet(opcode, outgoing.first.plus(number));
  packet.wants_ack = true;
  packet.address = request.remote_addr + skipped;
  packet.rkey = request.rkey;
  packet.length = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(outgoing.length - skipped, std::uint64_t{packets} * facts_.mtu));
  packet.swap_or_add = swaps ? request.swap : request.compare_add;
  packet.compare = request.compare_add;
  return packet;
}

void RequesterFlow::note_sent(Psn psn, Instant now) {
  if (psn == state_.unanswered) set_deadline(now);
  if (psn.is_before(state_.sent)) {
    counters_.retransmitted.add();
    if (timed_ && timed_->psn == psn) timed_.reset();
    return;
  }
  state_.sent = next_;
  if (psn == state_.unanswered) is_known_ = false;
  if (!timed_) timed_ = {.psn = psn, .sent_at = now};
}

void RequesterFlow::on_answer(const wire::roce::Frame& frame, Instant now) {
  if (requests_.empty()) return;  // they wait to be submitted again
  const Psn psn(frame.packet.psn);
  if (!psn.is_before(state_.sent)) return counters_.bad_responses.add();
  if (psn.is_before(state_.unanswered)) {  // a duplicate
    if (frame.packet.opcode != Opcode::kAcknowledge) set_deadline(now);
    return;
  }
  if (frame.packet.opcode == Opcode::kAcknowledge) {
    on_acknowledge(frame.packet, now);
    return count();
  }
  const std::size_t fetches = fetches_;
  on_data(frame, now);
  if (fetches_ != fetches) count();  // a READ counts as one, until all has come
}

void RequesterFlow::on_acknowledge(const Packet& packet, Instant now) {
  const Psn psn(packet.psn);
  const auto kind = static_cast<std::uint8_t>(packet.syndrome & kKindMask);
  if (kind == kIsNotReady || kind == kIsNak) {
    counters_.naks_received.add();
    return on_refusal(psn, packet.syndrome, now);
  }
  if (kind != 0) return counters_.bad_responses.add();
  static_cast<void>(pass_to(psn.next(), psn, now));
}

void RequesterFlow::on_refusal(Psn psn, std::uint8_t syndrome, Instant now) {
  if (!pass_to(psn, psn, now) || requests_.empty()) return;
  const auto value = static_cast<std::uint8_t>(syndrome & kValueMask);
  if ((syndrome & kKindMask) == kIsNotReady) {
    return fail({.kind = Outcome::Kind::kReceiverNotReady, .rnr_timer = value}, now);
  }
  switch (static_cast<NakCode>(value)) {
    case NakCode::kSequenceError: return go_back(now);
    case NakCode::kInvalidRequest: return fail(refused(WcStatus::kRemoteInvalidRequest), now);
    case NakCode::kRemoteAccessError: return fail(refused(WcStatus::kRemoteAccessError), now);
    case NakCode::kRemoteOperationalError:
      return fail(refused(WcStatus::kRemoteOperationError), now);
  }
  counters_.bad_responses.add();
}

// Once in a round trip: the peer may complain of each packet that was under way.
void RequesterFlow::go_back(Instant now) {
  const bool was_just_done = gone_back_ && gone_back_->psn == state_.unanswered &&
                             now - gone_back_->sent_at < retransmission_.wait() / 4;
  if (was_just_done) return;
  retransmission_.on_loss();
  gone_back_ = {.psn = state_.unanswered, .sent_at = now};
  is_silent_ = false;
  timed_.reset();
  send_again();
}

void RequesterFlow::send_again() {
  failed_.reset();  // it is found again, when all before it is sent
  next_ = state_.unanswered;
  if (requests_.front().request->opcode == WrOpcode::kRdmaRead) parts_.on_loss();
}

// A peer sends all of an answer before it looks at the next request, and answers each request for
// the rest of a READ with all of that. So it is asked once, and again when it has been silent for a
// while. Answers to what was not sent again yet are older than the last request.
void RequesterFlow::ask_again(Psn heard, Instant now) {
  const bool is_old = !heard.is_before(next_);
  const bool was_asked = gone_back_ && gone_back_->psn == state_.unanswered;
  if (is_old || was_asked) return set_deadline(now);
  go_back(now);
}

bool RequesterFlow::pass_to(Psn psn, Psn heard, Instant now) {
  const Psn before = state_.unanswered;
  while (!requests_.empty() && state_.unanswered.is_before(psn)) {
    const Outgoing& oldest = requests_.front();
    if (oldest.brings_bytes()) {  // an answer to a later request says that its own was lost
      note_progress(before, now);
      ask_again(heard, now);
      return false;
    }
    if (psn.is_before(oldest.last().next())) {
      state_.unanswered = psn;
      break;
    }
    state_.unanswered = oldest.last().next();
    if (!finish_oldest(now)) return false;
  }
  note_progress(before, now);
  return true;
}

void RequesterFlow::note_progress(Psn before, Instant now) {
  const auto packets = static_cast<std::uint32_t>(state_.unanswered.distance_from(before));
  const bool is_late = is_silent_ && fetches_ == 0 && next_.is_before(state_.unanswered);
  if (next_.is_before(state_.unanswered)) next_ = state_.unanswered;
  if (packets == 0) return;
  Duration round_trip{};
  if (timed_ && timed_->psn.is_before(state_.unanswered)) {
    round_trip = now - timed_->sent_at;
    timed_.reset();
  }
  retransmission_.on_progress(packets, round_trip);
  if (is_late) go_on();
  progress_ = now;
  set_deadline(now);
}

void RequesterFlow::go_on() {
  is_silent_ = false;
  next_ = state_.sent.is_before(state_.end) ? state_.sent : state_.end;
  retransmission_.on_late_answer();
}

bool RequesterFlow::finish_oldest(Instant now) {
  if (requests_.front().brings_bytes()) --fetches_;
  requests_.pop_front();
  is_known_ = false;
  const std::uint64_t ends = ends_;
  qp_.on_outcome(Outcome{}, now);
  if (ends != ends_) return false;
  tell_stuck(now);
  return ends == ends_;
}

void RequesterFlow::tell_stuck(Instant now) {
  if (!failed_ || requests_.empty() || requests_.front().request->serial != failed_->serial) return;
  fail(failed_->outcome, now);
}

void RequesterFlow::on_data(const wire::roce::Frame& frame, Instant now) {
  const Psn psn(frame.packet.psn);
  const Outgoing* outgoing = find(psn);
  if (outgoing == nullptr || !outgoing->brings_bytes()) return counters_.bad_responses.add();
  if (!pass_to(outgoing->first, psn, now) || requests_.empty()) return;
  outgoing = &requests_.front();
  is_known_ = true;
  if (psn != state_.unanswered) {
    counters_.out_of_order.add();
    return ask_again(psn, now);
  }
  const auto number = static_cast<std::uint32_t>(psn.distance_from(outgoing->first));
  const Outcome taken = take(*outgoing, number, frame);
  if (taken.kind == Outcome::Kind::kNoAnswer) return counters_.bad_responses.add();
  if (!is_done(taken)) return fail(taken, now);
  const Psn before = state_.unanswered;
  state_.unanswered = psn.next();
  parts_.on_data();
  note_progress(before, now);
  if (psn == outgoing->last()) static_cast<void>(finish_oldest(now));
}

// kNoAnswer: the answer does not fit the request.
Outcome RequesterFlow::take(const Outgoing& outgoing, std::uint32_t number,
                            const wire::roce::Frame& frame) {
  const verbs::SendRequest& request = *outgoing.request;
  const bool is_atomic = verbs::is_atomic(request.opcode);
  if (is_atomic != (frame.packet.opcode == Opcode::kAtomicAcknowledge)) return verbs::kNoAnswer;
  const Le64 original(frame.packet.original);
  const std::span<const std::byte> bytes =
      is_atomic ? std::as_bytes(std::span(&original, 1)) : frame.payload;
  const std::uint64_t offset = std::uint64_t{number} * facts_.mtu;
  const std::uint64_t expected = is_atomic || outgoing.length == 0
                                     ? outgoing.length
                                     : facts_.bytes_of(outgoing.length, number);
  if (bytes.size() != expected) return verbs::kNoAnswer;
  if (bytes.empty()) return {};
  scratch_.clear();
  const Outcome found =
      qp_.gather(request, offset, bytes.size(), verbs::kAccessLocalWrite, scratch_);
  if (!is_done(found)) return found;
  if (scatter_payload(bytes, scratch_)) return {};
  return {.kind = Outcome::Kind::kLocalError, .status = WcStatus::kFatal};
}

void RequesterFlow::fail(const Outcome& outcome, Instant now) {
  give_back();
  qp_.on_outcome(outcome, now);
}

void RequesterFlow::on_congestion(Instant now) {
  if (now - slowed_ < retransmission_.round_trip()) return;
  slowed_ = now;
  retransmission_.on_congestion();
}

void RequesterFlow::on_timer(Instant now) {
  if (requests_.empty()) return;
  if (timeout_ != Duration::zero() && now - progress_ >= timeout_) {
    progress_ = now;
    counters_.timeouts.add();
    return fail({.kind = Outcome::Kind::kNoAnswer, .wait = Outcome::Wait::kWaited}, now);
  }
  if (now < deadline_) return;
  if (state_.unanswered.is_before(state_.sent)) {
    counters_.timeouts.add();
    retransmission_.on_timeout();
    // Data is asked for once. What is missing of ours is told once, and may be told only now.
    gone_back_.reset();
    is_silent_ = !requests_.front().brings_bytes();
    if (!is_silent_) {
      gone_back_ = {.psn = state_.unanswered, .sent_at = now};
      timed_.reset();
    }
    send_again();
    count();
  }
  set_deadline(now);
}

}  // namespace paravane::transport_roce
