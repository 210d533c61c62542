#include "transport/roce/responder_flow.h"

#include <algorithm>
#include <utility>

#include "guestmem/payload.h"
#include "transport/roce/opcode_facts.h"

namespace paravane::transport_roce {

using verbs::Arrives;
using verbs::Outcome;
using verbs::Psn;
using verbs::RemoteRequest;
using verbs::WcStatus;
using verbs::WrOpcode;
using wire::roce::NakCode;
using wire::roce::Opcode;
using wire::roce::Packet;

namespace {

constexpr std::uint32_t kMessageMask = 0xFF'FFFF;

// A peer asks again for what it has under way, which is far less.
constexpr std::uint32_t kMostSteps = 1u << 22;

// Apart from the serials of peers that come over another transport, which count from 1: a queue
// pair's path may change.
constexpr std::uint64_t kOwnSerials = std::uint64_t{1} << 63;

bool has_immediate(Opcode opcode) {
  return opcode == Opcode::kSendLastImm || opcode == Opcode::kSendOnlyImm ||
         opcode == Opcode::kWriteLastImm || opcode == Opcode::kWriteOnlyImm;
}

bool invalidates(Opcode opcode) {
  return opcode == Opcode::kSendLastInvalidate || opcode == Opcode::kSendOnlyInvalidate;
}

WrOpcode ended_as(const Packet& packet, PacketKind kind) {
  if (kind == PacketKind::kWrite) {
    return has_immediate(packet.opcode) ? WrOpcode::kRdmaWriteWithImm : WrOpcode::kRdmaWrite;
  }
  if (invalidates(packet.opcode)) return WrOpcode::kSendWithInvalidate;
  return has_immediate(packet.opcode) ? WrOpcode::kSendWithImm : WrOpcode::kSend;
}

// What the first packet of a send or a write says of it.
ArrivingMessage begun_by(const Packet& packet, PacketKind kind) {
  if (kind == PacketKind::kSend) return {};
  return {
      .is_write = true, .address = packet.address, .rkey = packet.rkey, .length = packet.length};
}

NakCode code_of(WcStatus status) {
  if (status == WcStatus::kRemoteInvalidRequest) return NakCode::kInvalidRequest;
  if (status == WcStatus::kRemoteAccessError) return NakCode::kRemoteAccessError;
  return NakCode::kRemoteOperationalError;
}

}  // namespace

ResponderFlow::ResponderFlow(verbs::QueuePair& qp, const FlowFacts& facts, Psn expected,
                             RoceCounters& counters)
    : qp_(qp), facts_(facts), counters_(counters) {
  state_.expected = expected;
}

void ResponderFlow::set_max_reads(std::uint8_t max_reads) {
  max_reads_ = max_reads;
  while (state_.kept.size() > max_reads) state_.kept.erase(state_.kept.begin());
}

void ResponderFlow::on_request(const wire::roce::Frame& frame) {
  if (state_.has_refused) return;
  const std::int32_t ahead = Psn(frame.packet.psn).distance_from(state_.expected);
  if (ahead > 0) return on_gap();
  if (ahead < 0) return on_duplicate(frame);
  state_.has_told_gap = false;
  state_.has_told_wait = false;
  execute(frame);
}

// After an RNR NAK, the peer sends the expected packet again without being asked.
void ResponderFlow::on_gap() {
  counters_.out_of_order.add();
  if (state_.has_told_gap || state_.has_told_wait) return;
  state_.has_told_gap = true;
  counters_.naks_sent.add();
  add_answer({.kind = Answer::Kind::kRefuse,
              .psn = state_.expected,
              .message_number = state_.message_number,
              .syndrome = wire::roce::refused(NakCode::kSequenceError)});
}

// IBTA 9.7.5.1.3. A READ or an atomic that is no longer kept is dropped, as rdma_rxe does.
void ResponderFlow::on_duplicate(const wire::roce::Frame& frame) {
  counters_.duplicates.add();
  const Packet& packet = frame.packet;
  const OpcodeFacts facts = facts_of(packet.opcode);
  if (facts.kind == PacketKind::kSend || facts.kind == PacketKind::kWrite) {
    if (packet.wants_ack || facts.is_last) acknowledge_again(Psn(packet.psn));
    return;
  }
  const KeptAnswer* kept = find_kept(Psn(packet.psn));
  if (kept == nullptr || kept->is_read != (facts.kind == PacketKind::kRead)) return;
  if (kept->is_read) return read_again(packet, *kept);
  add_answer({.kind = Answer::Kind::kAtomic,
              .psn = kept->first,
              .message_number = kept->message_number,
              .original = kept->original,
              .is_again = true});
}

// The peer may ask for the rest of a READ, from the packet on that it is missing.
void ResponderFlow::read_again(const Packet& packet, const KeptAnswer& kept) {
  const auto skipped = static_cast<std::uint64_t>(Psn(packet.psn).distance_from(kept.first));
  const std::uint64_t from = skipped * facts_.mtu;
  const bool fits = packet.rkey == kept.rkey && packet.address == kept.address + from &&
                    from <= kept.length && packet.length <= kept.length - from;
  if (!fits) return;
  // What waits of its data is sent once, from where the peer wants it.
  std::erase_if(answers_, [&](const Answer& answer) {
    const std::int32_t distance = answer.psn.distance_from(kept.first);
    return answer.kind == Answer::Kind::kRead && distance >= 0 &&
           static_cast<std::uint32_t>(distance) < kept.packets;
  });
  add_answer({.kind = Answer::Kind::kRead,
              .psn = Psn(packet.psn),
              .message_number = kept.message_number,
              .address = packet.address,
              .length = packet.length,
              .rkey = packet.rkey,
              .packets = facts_.packets_of(packet.length),
              .is_resumed = skipped > 0,
              .is_again = true});
}

void ResponderFlow::execute(const wire::roce::Frame& frame) {
  const Packet& packet = frame.packet;
  const OpcodeFacts facts = facts_of(packet.opcode);
  // A message that the queue pair has ended is not gone on with.
  if (is_message_over()) forget_message();
  if (facts.is_first == state_.arriving.has_value() || !has_valid_size(packet, facts)) {
    forget_message();
    if (qp_.responder().listens()) refuse(qp_.responder().refuse_packets());
    return;
  }
  const auto outcome = [&] {
    switch (facts.kind) {
      case PacketKind::kSend:
      case PacketKind::kWrite:
        return facts.is_first && facts.is_last ? take_whole(frame, facts) : take_part(frame, facts);
      case PacketKind::kRead: return execute_read(packet);
      case PacketKind::kAtomic: return execute_atomic(packet);
      case PacketKind::kAnswer:
      case PacketKind::kOther: break;
    }
    return verbs::kNoAnswer;
  }();
  if (!is_done(outcome)) {
    if (facts.is_first) forget_message();  // the packet comes again
    return refuse(outcome);
  }
  if (facts.kind != PacketKind::kSend && facts.kind != PacketKind::kWrite) return;
  pass(1, facts.is_last);
  if (packet.wants_ack) acknowledge();
}

bool ResponderFlow::has_valid_size(const Packet& packet, OpcodeFacts facts) const {
  if (packet.payload_bytes > facts_.mtu) return false;
  if (!facts.is_last) return packet.payload_bytes == facts_.mtu;
  return facts.is_first || packet.payload_bytes > 0;
}

Outcome ResponderFlow::take_whole(const wire::roce::Frame& frame, OpcodeFacts facts) {
  auto placement = begin(begun_by(frame.packet, facts.kind));
  if (!placement) return placement.error();
  if (const Outcome placed = place(*placement, 0, frame.payload); !is_done(placed)) return placed;
  return finish(*placement, 0, frame.packet, facts.kind);
}

Outcome ResponderFlow::take_part(const wire::roce::Frame& frame, OpcodeFacts facts) {
  if (!placement_) {
    const ArrivingMessage message =
        facts.is_first ? begun_by(frame.packet, facts.kind) : *state_.arriving;
    auto begun = begin(message);
    if (!begun) return begun.error();
    placement_.emplace(std::move(*begun));
    state_.arriving = message;
  }
  const std::uint64_t arrived = state_.arriving->arrived;
  const Outcome placed = place(*placement_, arrived, frame.payload);
  if (!is_done(placed)) return placed;
  if (facts.is_last) {
    const Outcome finished = finish(*placement_, arrived, frame.packet, facts.kind);
    if (is_done(finished)) forget_message();
    return finished;
  }
  state_.arriving->arrived += frame.payload.size();
  return {};
}

std::expected<verbs::Placement, Outcome> ResponderFlow::begin(const ArrivingMessage& message) {
  return qp_.responder().begin({.opcode = message.is_write ? WrOpcode::kRdmaWrite : WrOpcode::kSend,
                                .source_qpn = facts_.peer_qpn,
                                .remote_addr = message.address,
                                .rkey = message.rkey,
                                .length = message.length},
                               Arrives::kInPackets);
}

bool ResponderFlow::is_message_over() const {
  if (!state_.arriving) return false;
  if (placement_) return !placement_->is_live();
  return qp_.responder().busy() || qp_.stats().receives != loaded_at_;
}

void ResponderFlow::forget_message() {
  placement_.reset();
  state_.arriving.reset();
}

Outcome ResponderFlow::place(verbs::Placement& placement, std::uint64_t arrived,
                             std::span<const std::byte> payload) {
  if (payload.empty()) return {};
  scratch_.clear();
  const Outcome found = placement.extents(arrived, payload.size(), scratch_);
  if (!is_done(found)) return found;
  return scatter_payload(payload, scratch_) ? Outcome{} : qp_.responder().memory_failed();
}

Outcome ResponderFlow::finish(verbs::Placement& placement, std::uint64_t arrived,
                              const Packet& packet, PacketKind kind) {
  return placement.finish({.opcode = ended_as(packet, kind),
                           .length = arrived + packet.payload_bytes,
                           .solicited = packet.solicited,
                           .imm = packet.immediate,
                           .invalidated_key = packet.invalidated_key});
}

Outcome ResponderFlow::execute_read(const Packet& packet) {
  if (reads_waiting() >= max_reads_) return qp_.responder().refuse_packets();
  const RemoteRequest read{.opcode = WrOpcode::kRdmaRead,
                           .source_qpn = facts_.peer_qpn,
                           .remote_addr = packet.address,
                           .rkey = packet.rkey,
                           .length = packet.length};
  auto begun = qp_.responder().begin(read, Arrives::kInPieces);
  if (!begun) return begun.error();
  if (const Outcome finished = begun->finish(); !is_done(finished)) return finished;
  const std::uint32_t packets = facts_.packets_of(packet.length);
  const Psn first = state_.expected;
  pass(packets, true);
  keep({.first = first,
        .packets = packets,
        .message_number = state_.message_number,
        .is_read = true,
        .address = packet.address,
        .rkey = packet.rkey,
        .length = packet.length});
  add_answer({.kind = Answer::Kind::kRead,
              .psn = first,
              .message_number = state_.message_number,
              .address = packet.address,
              .length = packet.length,
              .rkey = packet.rkey,
              .packets = packets});
  return {};
}

Outcome ResponderFlow::execute_atomic(const Packet& packet) {
  if (reads_waiting() >= max_reads_) return qp_.responder().refuse_packets();
  const bool swaps = packet.opcode == Opcode::kCompareSwap;
  const RemoteRequest request{.opcode = swaps ? WrOpcode::kCompareAndSwap : WrOpcode::kFetchAndAdd,
                              .source_qpn = facts_.peer_qpn,
                              .remote_addr = packet.address,
                              .rkey = packet.rkey,
                              .length = verbs::kAtomicBytes,
                              .compare_add = swaps ? packet.compare : packet.swap_or_add,
                              .swap = packet.swap_or_add,
                              .serial = kOwnSerials + state_.atomics};
  auto begun = qp_.responder().begin(request, Arrives::kInPieces);
  if (!begun) return begun.error();
  std::uint64_t original = 0;
  if (const Outcome executed = begun->atomic(original); !is_done(executed)) return executed;
  if (const Outcome finished = begun->finish(); !is_done(finished)) return finished;
  ++state_.atomics;
  const Psn psn = state_.expected;
  pass(1, true);
  keep({.first = psn, .message_number = state_.message_number, .original = original});
  add_answer({.kind = Answer::Kind::kAtomic,
              .psn = psn,
              .message_number = state_.message_number,
              .original = original});
  return {};
}

void ResponderFlow::keep(const KeptAnswer& answer) {
  if (max_reads_ == 0) return;
  if (state_.kept.size() >= max_reads_) state_.kept.erase(state_.kept.begin());
  state_.kept.push_back(answer);
}

const KeptAnswer* ResponderFlow::find_kept(Psn psn) const {
  const auto found = std::ranges::find_if(state_.kept, [psn](const KeptAnswer& kept) {
    const std::int32_t distance = psn.distance_from(kept.first);
    return distance >= 0 && static_cast<std::uint32_t>(distance) < kept.packets;
  });
  return found != state_.kept.end() ? &*found : nullptr;
}

void ResponderFlow::pass(std::uint32_t packets, bool ends_message) {
  state_.expected = state_.expected.plus(packets);
  if (ends_message) state_.message_number = (state_.message_number + 1) & kMessageMask;
  drop_old_answers();
}

// A kept answer whose number is half of all numbers away would be taken for one to come.
void ResponderFlow::drop_old_answers() {
  const auto is_old = [this](const KeptAnswer& kept) {
    return state_.expected.steps_from(kept.first.plus(kept.packets)) > kMostSteps;
  };
  while (!state_.kept.empty() && is_old(state_.kept.front())) {
    state_.kept.erase(state_.kept.begin());
  }
}

// Of all that has arrived.
void ResponderFlow::acknowledge() {
  const Psn psn = state_.expected.plus(Psn::kMask);
  const bool is_next = !answers_.empty() && answers_.back().kind == Answer::Kind::kAcknowledge &&
                       !psn.is_before(answers_.back().psn);
  if (is_next) {  // as add_answer() would do, without an answer in between
    answers_.back().psn = psn;
    answers_.back().message_number = state_.message_number;
    return;
  }
  add_answer({.kind = Answer::Kind::kAcknowledge,
              .psn = psn,
              .message_number = state_.message_number,
              .syndrome = wire::roce::kAcknowledged});
}

// Of what came again, and all after it up to a READ or an atomic. The answer of that may have been
// lost, and rdma_rxe takes an acknowledgement with its number for the answer: it would tell its
// program that the READ or the atomic is done.
void ResponderFlow::acknowledge_again(Psn repeated) {
  const auto fetch = std::ranges::find_if(state_.kept, [&](const KeptAnswer& kept) {
    return state_.expected.steps_from(repeated) > state_.expected.steps_from(kept.first);
  });
  if (fetch == state_.kept.end()) return acknowledge();
  add_answer({.kind = Answer::Kind::kAcknowledge,
              .psn = fetch->first.plus(Psn::kMask),
              .message_number = (fetch->message_number - 1) & kMessageMask,
              .syndrome = wire::roce::kAcknowledged});
}

// The packet that is expected comes again, or nothing does. Memory that is absent at the moment is
// waited for by the peer's retry timer.
void ResponderFlow::refuse(const Outcome& outcome) {
  Answer answer{.kind = Answer::Kind::kRefuse,
                .psn = state_.expected,
                .message_number = state_.message_number};
  switch (outcome.kind) {
    case Outcome::Kind::kReceiverNotReady:
      state_.has_told_wait = true;
      answer.syndrome = wire::roce::receiver_not_ready(outcome.rnr_timer);
      break;
    case Outcome::Kind::kRefused:
      state_.has_refused = true;
      answer.syndrome = wire::roce::refused(code_of(outcome.status));
      break;
    case Outcome::Kind::kDone:
    case Outcome::Kind::kNoAnswer:
    case Outcome::Kind::kAnswerLost:
    case Outcome::Kind::kLocalError:
    case Outcome::Kind::kMemoryAbsent: state_.has_told_wait = true; return;
  }
  counters_.naks_sent.add();
  add_answer(answer);
}

// Each READ and atomic, each again, and what refuses and acknowledges between them.
std::size_t ResponderFlow::most_answers(std::uint8_t max_reads) {
  return std::size_t{2} * max_reads + 8;
}

void ResponderFlow::add_answer(const Answer& answer) {
  using Kind = Answer::Kind;
  // Neighbours alone are merged, so a peer could have acknowledgements and others alternate.
  const bool is_new = answer.kind != Kind::kRefuse && !answer.is_again;
  const bool may_wait = answers_.size() < most_answers(max_reads_);
  if (!may_wait && (!is_new || answer.kind == Kind::kAcknowledge)) return;
  // From the end: nearly all answers are later than those that wait.
  auto place = answers_.end();
  while (place != answers_.begin() && answer.psn.is_before(std::prev(place)->psn)) --place;
  if (place != answers_.begin()) {
    Answer& before = *std::prev(place);
    const bool is_newer = answer.kind == Kind::kAcknowledge || answer.kind == Kind::kRefuse;
    if (answer.kind == before.kind && is_newer) {
      before = answer;
      return;
    }
    if (answer.kind == before.kind && answer.psn == before.psn) return;
  }
  answers_.insert(place, answer);
}

std::size_t ResponderFlow::reads_waiting() const {
  return static_cast<std::size_t>(std::ranges::count_if(answers_, [](const Answer& answer) {
    const bool brings_bytes =
        answer.kind == Answer::Kind::kRead || answer.kind == Answer::Kind::kAtomic;
    return brings_bytes && !answer.is_again;
  }));
}

bool ResponderFlow::compose(Outlet& outlet, verbs::Budget& budget) {
  while (!answers_.empty() && !budget.spent()) {
    Answer& answer = answers_.front();
    if (answer.kind != Answer::Kind::kRead) {
      if (send_simple(answer, outlet) == Outlet::Added::kFull) return false;
      answers_.pop_front();
      budget.operations -= 1;
      continue;
    }
    const std::optional<Outlet::Added> sent = send_data(answer, outlet, budget);
    if (sent == Outlet::Added::kFull) return false;
    if (!sent || answer.packets == 0) answers_.pop_front();
  }
  return true;
}

Outlet::Added ResponderFlow::send_simple(const Answer& answer, Outlet& outlet) {
  const bool is_atomic = answer.kind == Answer::Kind::kAtomic;
  Packet packet =
      facts_.packet(is_atomic ? Opcode::kAtomicAcknowledge : Opcode::kAcknowledge, answer.psn);
  packet.syndrome = is_atomic ? wire::roce::kAcknowledged : answer.syndrome;
  packet.message_number = answer.message_number;
  packet.original = answer.original;
  return outlet.add(packet);
}

// The data goes on in the manner of the peer: rdma_rxe wants the rest of a READ as middle packets,
// adapters as a READ of its own.
std::optional<Outlet::Added> ResponderFlow::send_data(Answer& answer, Outlet& outlet,
                                                      verbs::Budget& budget) {
  const bool is_first = answer.done == 0 && (!answer.is_resumed || facts_.peer_is_adapter);
  const bool is_last = answer.packets == 1;
  const Opcode opcode = is_first
                            ? (is_last ? Opcode::kReadResponseOnly : Opcode::kReadResponseFirst)
                            : (is_last ? Opcode::kReadResponseLast : Opcode::kReadResponseMiddle);
  Packet packet = facts_.packet(opcode, answer.psn);
  packet.syndrome = wire::roce::kAcknowledged;
  packet.message_number = answer.message_number;
  const std::uint64_t left = answer.length - answer.done;
  packet.payload_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(facts_.mtu, left));
  scratch_.clear();
  if (packet.payload_bytes > 0) {
    const Outcome found = qp_.responder().read_extents({.opcode = WrOpcode::kRdmaRead,
                                                        .source_qpn = facts_.peer_qpn,
                                                        .remote_addr = answer.address,
                                                        .rkey = answer.rkey,
                                                        .length = answer.length},
                                                       answer.done, packet.payload_bytes, scratch_);
    if (found.kind == Outcome::Kind::kRefused) {
      const Psn psn = answer.psn;
      answers_.erase(answers_.begin() + 1, answers_.end());
      counters_.naks_sent.add();
      answers_.push_back({.kind = Answer::Kind::kRefuse,
                          .psn = psn,
                          .message_number = answer.message_number,
                          .syndrome = wire::roce::refused(code_of(found.status))});
      return std::nullopt;
    }
    if (!is_done(found)) return std::nullopt;  // the peer asks for it again
  }
  const Outlet::Added added = outlet.add(packet, scratch_);
  if (added == Outlet::Added::kFull) return added;
  if (added == Outlet::Added::kMemoryFailed) {
    static_cast<void>(qp_.responder().memory_failed());
    return std::nullopt;
  }
  answer.psn = answer.psn.next();
  answer.done += packet.payload_bytes;
  --answer.packets;
  budget.bytes -= std::max<std::int64_t>(packet.payload_bytes, 1);
  budget.operations -= 1;
  return added;
}

}  // namespace paravane::transport_roce
