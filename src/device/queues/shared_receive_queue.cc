#include "device/queues/shared_receive_queue.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "abi/ring_state.h"
#include "device/queues/queue_geometry.h"
#include "device/queues/queue_pair.h"
#include "verbs/responder.h"

namespace paravane::device {
namespace {

// Queue pairs that one doorbell, or one taken receive, may look at.
constexpr std::uint32_t kWaitersPerLook = 64;

RingLayout layout_of(const SharedReceiveQueue::Spec& spec) {
  return {abi::kRxProducerAt, abi::kRxConsumerAt, kPageBytes, receive_stride(spec.sges),
          spec.requests};
}

}  // namespace

SharedReceiveQueue::SharedReceiveQueue(const Spec& spec, PageList pages,
                                       SharedReceiveEvents& events, Counter& broken_rings)
    : spec_(spec),
      decoder_({.poster = Poster::kUser,
                .protection_domain = spec.protection_domain,
                .max_receive_sges = static_cast<std::uint8_t>(spec.sges)}),
      pages_(std::move(pages)),
      ring_(pages_, layout_of(spec), broken_rings),
      events_(events),
      limit_(spec.limit) {}

void SharedReceiveQueue::drop_user(QueuePair& qp) {
  waiting_.leave(qp.place_in_line());
  --users_;
}

Status SharedReceiveQueue::set_limit(std::uint32_t limit) {
  if (limit > spec_.requests) {
    return fail(Errc::kOutOfRange, fmt::format("limit {} of {}", limit, spec_.requests));
  }
  limit_ = limit;
  judge_limit();
  return {};
}

void SharedReceiveQueue::judge_limit() {
  if (limit_ == 0 || ring_.available() >= limit_) return;
  limit_ = 0;
  events_.on_limit_reached(spec_.handle);
}

SharedReceiveQueue::Fetch SharedReceiveQueue::take(QueuePair& qp, verbs::ReceiveRequest& out) {
  const Fetch fetched = ring_.take_receive(decoder_, out);
  switch (fetched) {
    case Fetch::kTaken:
      static_cast<void>(ring_.ring().publish());  // taken, also when the guest cannot be told yet
      judge_limit();
      if (!waiting_.empty() && ring_.peek() == RingConsumer::Next::kEntry) wake(1);
      break;
    case Fetch::kEmpty: line_up(qp); break;
    case Fetch::kBroken: note_broken(); break;
    case Fetch::kAbsent: break;
  }
  return fetched;
}

bool SharedReceiveQueue::wait_for_receive(QueuePair& qp) {
  const RingConsumer::Next next = ring_.peek();
  if (next == RingConsumer::Next::kEmpty) line_up(qp);
  return next == RingConsumer::Next::kEntry;
}

bool SharedReceiveQueue::look() {
  const std::uint32_t entries = ring_.available();
  if (ring_.broken()) note_broken();
  return wake(std::min(entries, kWaitersPerLook)) > 0;
}

// A datagram's sender does not wait.
void SharedReceiveQueue::line_up(QueuePair& qp) {
  if (qp.type() != verbs::QpType::kReliableConnected) return;
  if (!qp.place_in_line().taken()) waiting_.join(qp, qp.place_in_line());
}

std::uint32_t SharedReceiveQueue::wake(std::uint32_t most) {
  std::uint32_t woken = 0;
  for (std::uint32_t looks = 0; looks < kWaitersPerLook && woken < most; ++looks) {
    QueuePair* qp = waiting_.call();
    if (qp == nullptr) break;
    if (!qp->engine().responder().peer_waits()) continue;  // its peer has come again by itself
    qp->engine().kick();
    ++woken;
  }
  return woken;
}

void SharedReceiveQueue::note_broken() {
  if (std::exchange(told_broken_, true)) return;
  static_cast<void>(ring_.peek());  // counts it
  events_.on_shared_receive_error(spec_.handle);
}

}  // namespace paravane::device
