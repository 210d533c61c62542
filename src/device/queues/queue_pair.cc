#include "device/queues/queue_pair.h"

#include <utility>

namespace paravane::device {
namespace {

WorkDecoder::Spec decoder_spec(const QueuePair::Spec& spec) {
  return {.poster = spec.context == 0 ? Poster::kKernel : Poster::kUser,
          .datagrams = spec.type != verbs::QpType::kReliableConnected,
          .atomics = spec.atomics,
          .protection_domain = spec.protection_domain,
          .max_send_sges = spec.caps.send_sges,
          .max_receive_sges = spec.caps.receive_sges};
}

}  // namespace

QueuePair::QueuePair(const Spec& spec, PageList pages, const QueueGeometry& geometry,
                     Counter& broken_rings)
    : send_cq_(*spec.send_cq),
      decoder_(decoder_spec(spec)),
      receive_cq_(*spec.receive_cq),
      shared_receives_(spec.shared_receives),
      handle_(spec.handle),
      context_(spec.context),
      caps_(spec.caps),
      type_(spec.type),
      pages_(std::move(pages)),
      send_(pages_, geometry.send, broken_rings) {
  if (shared_receives_ == nullptr) {
    receive_.emplace(pages_, geometry.receive, broken_rings);
  } else {
    shared_receives_->add_user();
  }
  send_cq_.add_user();
  receive_cq_.add_user();
}

QueuePair::~QueuePair() {
  engine_.reset();
  send_cq_.forget_taken(send_.ring());
  if (receive_) receive_cq_.forget_taken(receive_->ring());
  if (shared_receives_ != nullptr) shared_receives_->drop_user(*this);
  for (CompletionQueue* cq : {&send_cq_, &receive_cq_}) cq->drop_user();
}

QueuePair::Spec QueuePair::spec() const {
  return {.handle = handle_,
          .context = context_,
          .protection_domain = std::to_underlying(engine_->spec().pd),
          .type = type_,
          .caps = caps_,
          .atomics = decoder_.takes_atomics(),
          .send_cq = &send_cq_,
          .receive_cq = &receive_cq_,
          .shared_receives = shared_receives_};
}

bool QueuePair::look() {
  bool more = false;
  switch (engine_->state()) {
    case verbs::QpState::kReset:
    case verbs::QpState::kInit: return false;
    case verbs::QpState::kError: more = receive_ && receive_->more_posted(); [[fallthrough]];
    case verbs::QpState::kReadyToReceive:
    case verbs::QpState::kReadyToSend:
    case verbs::QpState::kSendQueueDrain:
    case verbs::QpState::kSendQueueError: more = send_.more_posted() || more; break;
  }
  if (more) engine_->kick();
  return more;
}

verbs::WorkSource::Fetch QueuePair::peek_send(verbs::SendRequest& out) {
  return send_.peek_send(decoder_, out);
}

void QueuePair::pass_send() {
  send_.pass_send();
  send_cq_.publish_before_reveal(send_.ring());
}

verbs::WorkSource::Fetch QueuePair::take_receive(verbs::ReceiveRequest& out) {
  if (!receive_) return shared_receives_->take(*this, out);
  const Fetch fetched = receive_->take_receive(decoder_, out);
  // Taken, also when the guest cannot be told yet.
  if (fetched == Fetch::kTaken) static_cast<void>(receive_->ring().publish());
  return fetched;
}

verbs::WorkSource::Fetch QueuePair::take_receive_in_passing(verbs::ReceiveRequest& out) {
  if (!receive_) return shared_receives_->take(*this, out);
  const Fetch fetched = receive_->take_receive(decoder_, out);
  if (fetched == Fetch::kTaken) receive_cq_.publish_before_reveal(receive_->ring());
  return fetched;
}

bool QueuePair::wait_for_receive() {
  return receive_ ? receive_->peek() == RingConsumer::Next::kEntry
                  : shared_receives_->wait_for_receive(*this);
}

void QueuePair::restart() {
  send_.reset();
  if (receive_) receive_->reset();
  if (KernelJournal* journal = send_cq_.journal()) journal->start_qp(handle_);
}

}  // namespace paravane::device
