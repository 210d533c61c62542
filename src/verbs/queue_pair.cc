#include "verbs/queue_pair.h"

#include <cassert>
#include <utility>

#include "base/log.h"
#include "verbs/queue_pair_impl.h"
#include "verbs/sge_walk.h"

namespace paravane::verbs {

QueuePair::QueuePair(Adapter& adapter, const QueuePairSpec& spec, Impl& impl)
    : impl_(&impl), adapter_(adapter), number_(spec.number), type_(spec.type) {}

QueuePair::Whole::Whole(Adapter& adapter, const QueuePairSpec& spec)
    : QueuePair(adapter, spec, impl), impl(*this, adapter, spec) {
  responder_ = &impl.responder;
  connection_ = &impl.connection;
  if (type_ == QpType::kReliableConnected) impl.connection.count_in(adapter.path_use());
}

QueuePair::Whole::~Whole() {
  impl.requester.reset();
  impl.responder.reset();
  impl.path_states.reset();
  adapter_.forget(*this);
}

QpState QueuePair::state() const {
  return impl_->state;
}
const QueuePairSpec& QueuePair::spec() const {
  return impl_->spec;
}
const QueuePairStats& QueuePair::stats() const {
  return impl_->stats;
}
std::uint32_t QueuePair::dest_qpn() const {
  return impl_->attributes.dest_qpn;
}
const Path* QueuePair::path() {
  return impl_->connection.path(impl_->adapter, impl_->adapter.fabric());
}

std::string_view QueuePair::path_name() const {
  const Path* path = impl_->connection.last_path();
  return path != nullptr ? path->transport->name() : "-";
}

QpAttributes QueuePair::query() const {
  QpAttributes attributes = impl_->attributes;
  attributes.state = impl_->state;
  attributes.current_state = impl_->state;
  return attributes;
}

void QueuePair::kick() {
  Impl& impl = *impl_;
  if (impl.scheduled.taken()) return;
  switch (impl.state) {
    case QpState::kReset:
    case QpState::kInit: return;
    case QpState::kReadyToReceive:
      if (!impl.responder.peer_waits()) return;
      break;
    case QpState::kReadyToSend:
    case QpState::kSendQueueDrain:
    case QpState::kSendQueueError:
      if (!impl.requester.can_run() && !impl.responder.peer_waits()) return;
      break;
    case QpState::kError: break;
  }
  impl.adapter.schedule(*this, impl.scheduled);
}

bool QueuePair::run(Instant now, Budget& budget) {
  Impl& impl = *impl_;
  if (impl.responder.peer_waits() && impl.responder.take_wakeup()) tell_peer_ready();
  if (impl.state != QpState::kError) {
    const bool more = impl.requester.run(now, budget);
    if (impl.state != QpState::kError) return more;
    return true;
  }
  // Sends and receives are flushed independently: neither may wait for the other.
  Budget for_sends{.bytes = budget.bytes, .operations = (budget.operations + 1) / 2};
  const std::int32_t given = for_sends.operations;
  const bool more_sends = impl.requester.run(now, for_sends);
  budget.operations -= given - for_sends.operations;
  const bool more_receives = impl.responder.flush(now, budget);
  return more_sends || more_receives;
}

void QueuePair::tell_peer_ready() {
  if (const Path* to_peer = path()) to_peer->transport->tell_peer_ready(*this);
}

void QueuePair::on_peer_ready() {
  impl_->requester.on_peer_ready();
}

void QueuePair::on_path_back() {
  impl_->requester.on_path_back();
}

PathState* QueuePair::path_state(const Transport& transport) const {
  PathState* state = impl_->path_states.get();
  while (state != nullptr && &state->transport() != &transport) state = state->next_.get();
  return state;
}
void QueuePair::add_path_state(std::unique_ptr<PathState> state) {
  assert(path_state(state->transport()) == nullptr);
  state->next_ = std::move(impl_->path_states);
  impl_->path_states = std::move(state);
}
std::uint64_t QueuePair::modifications() const {
  return impl_->modifications;
}
Life QueuePair::peer_life() const {
  return impl_->peer_life;
}

void QueuePair::set_peer_life(const Life& life) {
  impl_->peer_life = life;
}

Life QueuePair::life() const {
  const Life first = adapter_.first_life_;
  return {.high = first.high, .low = first.low + impl_->life};
}

void QueuePair::on_outcome(const Outcome& outcome, Instant now) {
  impl_->requester.on_outcome(outcome, now);
}

void QueuePair::set_outcome_filter(OutcomeFilter* filter) {
  impl_->requester.set_filter(filter);
}

Outcome QueuePair::gather(const SendRequest& request, std::uint64_t offset, std::uint64_t length,
                          AccessMask need, ExtentList& out) {
  const AccessVerdict verdict = resolve_sges(impl_->adapter.regions(), impl_->spec.pd, request.sges,
                                             {.offset = offset, .length = length}, need, out);
  switch (verdict) {
    case AccessVerdict::kOk: return {};
    case AccessVerdict::kAbsent:
      return {.kind = Outcome::Kind::kMemoryAbsent, .status = WcStatus::kLocalProtectionError};
    case AccessVerdict::kFailed:
      return {.kind = Outcome::Kind::kLocalError, .status = WcStatus::kFatal};
    case AccessVerdict::kBadKey:
    case AccessVerdict::kOutOfRange:
    case AccessVerdict::kNoRight: break;
  }
  return {.kind = Outcome::Kind::kLocalError, .status = WcStatus::kLocalProtectionError};
}

void QueuePair::Impl::set_state(QpState to) {
  if (log::writes(log::Level::kDebug)) {
    log::debug("adapter {}: qp {:#x}: {} -> {}", std::to_underlying(adapter.id()), spec.number,
               to_string(state), to_string(to));
  }
  state = to;
}

void QueuePair::Impl::enter_error() {
  if (state == QpState::kError) return;
  requester.stop();
  responder.stop();
  set_state(QpState::kError);
  responder.queue_pair().kick();
}

void QueuePair::Impl::fail(QpEvent reason) {
  if (state == QpState::kError) return;
  enter_error();
  adapter.events().on_qp_event(spec.tag, reason);
}

void QueuePair::Impl::send_failed() {
  if (spec.type == QpType::kReliableConnected) return enter_error();
  if (state == QpState::kError) return;
  set_state(QpState::kSendQueueError);
}

void QueuePair::Impl::push(CompletionQueue& queue, const Completion& completion, Reveal when) {
  if (!queue.push(completion, when)) fail(QpEvent::kFatal);
}

void QueuePair::Impl::note_drained() {
  if (state != QpState::kSendQueueDrain || !wants_drained_event || requester.has_request()) return;
  wants_drained_event = false;
  adapter.events().on_qp_event(spec.tag, QpEvent::kSendQueueDrained);
}

}  // namespace paravane::verbs
