#include "transport/impaired/impaired_transport.h"

#include <algorithm>
#include <utility>

#include "guestmem/extent.h"
#include "guestmem/payload.h"
#include "verbs/adapter.h"
#include "verbs/request_check.h"

namespace paravane::transport_impaired {

using verbs::kNoAnswer;
using verbs::Outcome;
using verbs::Path;
using verbs::QueuePair;
using verbs::SendRequest;

namespace {

constexpr Outcome kAnswerLost{.kind = Outcome::Kind::kAnswerLost};

// 0.64 ms: what programs give their queue pairs.
constexpr Outcome kNotReady{.kind = Outcome::Kind::kReceiverNotReady, .rnr_timer = 12};

bool takes_receive(verbs::WrOpcode opcode) {
  return verbs::is_send(opcode) || opcode == verbs::WrOpcode::kRdmaWriteWithImm;
}

// The peer has said it.
bool is_answer(const Outcome& outcome) {
  return is_done(outcome) || outcome.kind == Outcome::Kind::kRefused ||
         outcome.kind == Outcome::Kind::kReceiverNotReady;
}

}  // namespace

ImpairedTransport::ImpairedTransport(verbs::Transport& carrier, const TurnClock& clock,
                                     FindPath find_path)
    : carrier_(carrier),
      clock_(clock),
      find_path_(std::move(find_path)),
      name_(std::string(carrier.name()).append(kNameSuffix)) {}

void ImpairedTransport::set(const Impairment& impairment) {
  impairment_ = impairment;
  counts_ = {};
  ++changes_;
  senders_ = 0;
}

void ImpairedTransport::forget(verbs::AdapterId adapter) {
  held_datagrams_ -= std::erase_if(held_, [adapter](const auto& held) {
    return held.second.datagram && held.second.datagram->from == adapter;
  });
}

ImpairedTransport::Flow& ImpairedTransport::flow_of(const QueuePair& qp) {
  auto found = flows_.find(&qp);
  if (found == flows_.end()) {
    if (flows_.size() >= next_sweep_) {
      std::erase_if(flows_, [](const auto& flow) { return flow.second.tries.empty(); });
      next_sweep_ = std::max(kMaxFlows, 2 * flows_.size());
    }
    found = flows_.try_emplace(&qp).first;
  }
  Flow& flow = found->second;
  if (flow.life != qp.life() || flow.change != changes_) {
    flow.life = qp.life();
    flow.change = changes_;
    flow.sender = ++senders_;
    flow.next = 1;
  }
  return flow;
}

ImpairedTransport::Try ImpairedTransport::next_try(Flow& flow, const SendRequest& request,
                                                   bool only_answer) {
  const std::uint64_t number = flow.next++;
  Try next{.request = &request,
           .only_answer = only_answer,
           .number = number,
           .fate = fate_of(impairment_, {.sender = flow.sender, .message = number})};
  if (only_answer || !takes_receive(request.opcode)) next.fate.receiver_not_ready = false;
  next.hold = hold_of(impairment_, next.fate);
  next.due = clock_.now + next.hold;
  if (!flow.tries.empty()) next.due = std::max(next.due, flow.tries.back().due);
  return next;
}

void ImpairedTransport::count(const Try& next) {
  ++counts_.messages;
  if (next.fate.lost) {
    ++counts_.lost;
  } else if (next.fate.receiver_not_ready) {
    ++counts_.receiver_not_ready;
  } else if (next.hold > Duration::zero()) {
    ++counts_.delayed;
    if (next.fate.overtaken) ++counts_.reordered;
  }
}

std::optional<Outcome> ImpairedTransport::submit(QueuePair& qp, const Path& path,
                                                 const SendRequest& request,
                                                 verbs::Budget& budget) {
  Flow& flow = flow_of(qp);
  return begin(qp, flow, path, next_try(flow, request, false), budget);
}

std::optional<Outcome> ImpairedTransport::submit_again(QueuePair& qp, const Path& path,
                                                       const SendRequest& request,
                                                       verbs::Budget& budget) {
  Flow& flow = flow_of(qp);
  return begin(qp, flow, path, next_try(flow, request, true), budget);
}

std::optional<Outcome> ImpairedTransport::begin(QueuePair& qp, Flow& flow, const Path& path,
                                                const Try& next, verbs::Budget& budget) {
  if (!flow.tries.empty() || next.due > clock_.now) {
    flow.tries.push_back(next);
    await_turn(qp, flow);
    return std::nullopt;
  }
  const std::optional<Outcome> outcome = carry(qp, &path, next, budget);
  if (outcome) return end_try(flow, next, *outcome);
  flow.tries.push_back(next);
  note_handed_on(qp, flow);
  return std::nullopt;
}

std::optional<Outcome> ImpairedTransport::carry(QueuePair& qp, const Path* path, const Try& next,
                                                verbs::Budget& budget) {
  count(next);
  if (next.fate.lost) return kNoAnswer;
  if (next.fate.receiver_not_ready) return kNotReady;
  if (path == nullptr || !leads_on(*path)) return kNoAnswer;
  return next.only_answer ? carrier_.submit_again(qp, *path, *next.request, budget)
                          : carrier_.submit(qp, *path, *next.request, budget);
}

// What the requester hears of it. One that failed here is over; one that failed by itself
// has not used its number up.
Outcome ImpairedTransport::end_try(Flow& flow, const Try& ended, const Outcome& outcome) {
  if (!ended.fails_here() && ended.fate.answer_lost && is_answer(outcome)) {
    ++counts_.answers_lost;
    flow.next = ended.number + 1;
    return is_done(outcome) ? kAnswerLost : kNoAnswer;
  }
  if (!is_done(outcome)) flow.next = ended.number + (ended.fails_here() ? 1 : 0);
  return outcome;
}

void ImpairedTransport::note_handed_on(QueuePair& qp, Flow& flow) {
  if (++flow.handed_on == 1) qp.set_outcome_filter(this);
  await_turn(qp, flow);
}

bool ImpairedTransport::may_hand_on(const Flow& flow) const {
  if (flow.handed_on == flow.tries.size()) return false;
  if (flow.handed_on == 0) return true;
  return flow.handed_on < carrier_.depth() && !flow.tries[flow.handed_on].fails_here() &&
         !flow.tries[flow.handed_on - 1].fate.answer_lost;
}

void ImpairedTransport::await_turn(QueuePair& qp, Flow& flow) {
  if (flow.has_place || !may_hand_on(flow)) return;
  flow.place = held_.emplace(flow.tries[flow.handed_on].due, Held{.qp = &qp, .datagram = {}});
  flow.has_place = true;
}

void ImpairedTransport::drop_all(QueuePair& qp, Flow& flow) {
  if (std::exchange(flow.has_place, false)) held_.erase(flow.place);
  flow.tries.clear();
  if (std::exchange(flow.handed_on, 0) > 0) qp.set_outcome_filter(nullptr);
}

void ImpairedTransport::cancel(QueuePair& qp) {
  const auto found = flows_.find(&qp);
  if (found != flows_.end()) drop_all(qp, found->second);
  carrier_.cancel(qp);
}

void ImpairedTransport::poll(Instant now, verbs::Budget& budget) {
  while (!budget.spent() && next_due() <= now) {
    budget.operations -= 1;
    const auto first = held_.extract(held_.begin());
    const Held& held = first.mapped();
    if (held.datagram) {
      --held_datagrams_;
      carry_datagram(*held.datagram);
    } else {
      Flow& flow = flows_.at(held.qp);
      flow.has_place = false;
      take_turn(*held.qp, flow, budget);
    }
  }
}

void ImpairedTransport::take_turn(QueuePair& qp, Flow& flow, verbs::Budget& budget) {
  const Try next = flow.tries[flow.handed_on];
  const std::optional<Outcome> outcome = carry(qp, qp.path(), next, budget);
  if (flow.tries.empty()) {  // it was its own peer, and has ended
    if (!outcome) carrier_.cancel(qp);
    return;
  }
  if (!outcome) return note_handed_on(qp, flow);
  if (flow.handed_on > 0) return;  // tried again after the others
  const Outcome told = end_try(flow, next, *outcome);
  if (is_done(told)) {
    flow.tries.pop_front();
    await_turn(qp, flow);
  } else {
    drop_all(qp, flow);
  }
  qp.on_outcome(told, clock_.now);
}

Outcome ImpairedTransport::filter(QueuePair& qp, const Outcome& outcome) {
  Flow& flow = flows_.at(&qp);
  const Outcome told = end_try(flow, flow.tries.front(), outcome);
  if (!is_done(told)) {
    drop_all(qp, flow);
    return told;
  }
  flow.tries.pop_front();
  if (--flow.handed_on == 0) qp.set_outcome_filter(nullptr);
  await_turn(qp, flow);
  return told;
}

std::optional<Outcome> ImpairedTransport::send_datagram(QueuePair& qp, const Path& path,
                                                        const verbs::DatagramSource& source,
                                                        const SendRequest& request) {
  Flow& flow = flow_of(qp);
  Try next = next_try(flow, request, false);
  next.fate.receiver_not_ready = false;
  const std::optional<Outcome> outcome = pass_datagram(qp, path, source, next);
  if (!outcome || is_done(*outcome)) {
    count(next);
  } else {
    flow.next = next.number;
  }
  return outcome;
}

std::optional<Outcome> ImpairedTransport::pass_datagram(QueuePair& qp, const Path& path,
                                                        const verbs::DatagramSource& source,
                                                        Try& next) {
  const SendRequest& request = *next.request;
  if (!next.fate.lost && next.hold == Duration::zero()) {
    return carrier_.send_datagram(qp, path, source, request);
  }
  ExtentList extents;
  const Outcome local = qp.gather(request, 0, request.sges.total_bytes(), 0, extents);
  if (!is_done(local)) return local;
  if (held_datagrams_ >= kMaxHeldDatagrams) next.fate.lost = true;
  if (next.fate.lost) return Outcome{};
  auto datagram = std::make_unique<Datagram>(
      Datagram{.from = qp.adapter().id(), .source = source, .request = request, .payload = {}});
  datagram->payload.resize(extents.total_bytes());
  if (!gather_payload(extents, datagram->payload)) {
    return Outcome{.kind = Outcome::Kind::kLocalError, .status = verbs::WcStatus::kFatal};
  }
  ++held_datagrams_;
  held_.emplace(next.due, Held{.qp = nullptr, .datagram = std::move(datagram)});
  return Outcome{};
}

// Whether it is a path of our carrier's, with us before it or not.
bool ImpairedTransport::leads_on(const Path& path) const {
  return &path.transport->carrier() == &carrier_.carrier();
}

void ImpairedTransport::carry_datagram(const Datagram& datagram) {
  const std::optional<Path> path = find_path_(datagram.from, datagram.source.sgid,
                                              datagram.request.av.dgid, datagram.source.gid_type);
  if (!path || !leads_on(*path)) {
    ++counts_.lost;
    return;
  }
  carrier_.send_copied_datagram(*path, datagram.source, datagram.request, datagram.payload);
}

}  // namespace paravane::transport_impaired
