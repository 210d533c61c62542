#include "device/queue_pair.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace paravane::device {
namespace {

// What one copy brings of an entry: the header and the SGEs of nearly all
// requests. Send entries are at least 128 bytes apart, receive entries 16.
constexpr std::uint32_t kSgesAtHand = 3;

struct SendEntry {
  abi::SendHeader header;
  std::array<abi::Sge, kSgesAtHand> sges;
};
static_assert(sizeof(SendEntry) == 128 && sizeof(SendEntry) == send_stride(0));

struct ReceiveEntry {
  abi::ReceiveHeader header;
  std::array<abi::Sge, kSgesAtHand> sges;
};
static_assert(sizeof(ReceiveEntry) == 64);

WorkDecoder::Spec decoder_spec(const QueuePair::Spec& spec) {
  return {.poster = spec.context == 0 ? Poster::kKernel : Poster::kUser,
          .datagrams = spec.type != verbs::QpType::kReliableConnected,
          .protection_domain = spec.protection_domain,
          .max_send_sges = spec.caps.send_sges,
          .max_receive_sges = spec.caps.receive_sges};
}

}  // namespace

QueuePair::QueuePair(const Spec& spec, PageList pages, const QueueGeometry& geometry,
                     Counter& broken_rings)
    : spec_(spec),
      decoder_(decoder_spec(spec)),
      pages_(std::move(pages)),
      send_(pages_, geometry.send),
      receive_(pages_, geometry.receive),
      receive_entry_bytes_(
          std::min<std::uint32_t>(sizeof(ReceiveEntry), geometry.receive.element_bytes)),
      broken_rings_(broken_rings) {
  spec_.send_cq->add_user();
  spec_.receive_cq->add_user();
}

QueuePair::~QueuePair() {
  engine_.reset();
  for (CompletionQueue* cq : {spec_.send_cq, spec_.receive_cq}) {
    cq->forget_qp(spec_.handle);
    cq->drop_user();
  }
}

bool QueuePair::more_posted(RingConsumer& ring, Posted& posted, bool reported_broken) {
  // Only forward counts: an index that goes back and forth is not work.
  const std::uint64_t total = posted.taken + ring.available();
  if (ring.broken()) return !reported_broken;  // the engine draws the conclusions
  if (total <= posted.seen) return false;
  posted.seen = total;
  return true;
}

bool QueuePair::look() {
  bool more = false;
  switch (engine_->state()) {
    case verbs::QpState::kReset:
    case verbs::QpState::kInit: return false;
    case verbs::QpState::kError:
      more = more_posted(receive_, receive_posted_, receive_broken_);
      [[fallthrough]];
    case verbs::QpState::kReadyToReceive:
    case verbs::QpState::kReadyToSend:
    case verbs::QpState::kSendQueueDrain:
    case verbs::QpState::kSendQueueError:
      more = more_posted(send_, send_posted_, send_broken_) || more;
      break;
  }
  if (more) engine_->kick();
  return more;
}

verbs::WorkSource::Fetch QueuePair::peek(RingConsumer& ring, bool& reported_broken) {
  switch (ring.peek()) {
    case RingConsumer::Next::kEntry: return Fetch::kTaken;
    case RingConsumer::Next::kEmpty: return Fetch::kEmpty;
    case RingConsumer::Next::kAbsent: return Fetch::kAbsent;
    case RingConsumer::Next::kBroken: break;
  }
  if (!std::exchange(reported_broken, true)) broken_rings_.add();
  return Fetch::kBroken;
}

template <typename Request>
Reach QueuePair::copy_sges(const RingConsumer& ring, std::uint32_t header_bytes,
                           std::uint32_t count, std::span<const abi::Sge> at_hand, Request& out) {
  const auto first = std::min<std::uint32_t>(count, static_cast<std::uint32_t>(at_hand.size()));
  append_sges(at_hand.first(first), out.sges);
  const std::uint32_t rest = count - first;
  if (rest == 0) return Reach::kOk;
  std::array<abi::Sge, verbs::kMaxSges> more;
  const std::span<abi::Sge> wanted = std::span(more).first(rest);
  const auto offset = static_cast<std::uint32_t>(header_bytes + first * sizeof(abi::Sge));
  const Reach reach = ring.copy_head(offset, std::as_writable_bytes(wanted));
  if (reach == Reach::kOk) append_sges(wanted, out.sges);
  return reach;
}

verbs::WorkSource::Fetch QueuePair::take_send(verbs::SendRequest& out) {
  const Fetch ready = peek(send_, send_broken_);
  if (ready != Fetch::kTaken) return ready;
  alignas(64) SendEntry entry;
  if (send_.copy_head(std::as_writable_bytes(std::span(&entry, 1))) != Reach::kOk) {
    return Fetch::kAbsent;
  }
  const std::uint32_t sges = decoder_.decode_send(entry.header, out);
  if (copy_sges(send_, sizeof(entry.header), sges, entry.sges, out) != Reach::kOk) {
    return Fetch::kAbsent;
  }
  send_.advance();
  spec_.send_cq->publish_before_reveal(send_);
  ++send_posted_.taken;
  return Fetch::kTaken;
}

verbs::WorkSource::Fetch QueuePair::take_receive(verbs::ReceiveRequest& out) {
  const Fetch ready = peek(receive_, receive_broken_);
  if (ready != Fetch::kTaken) return ready;
  alignas(64) ReceiveEntry entry;
  const auto bytes = std::as_writable_bytes(std::span(&entry, 1)).first(receive_entry_bytes_);
  if (receive_.copy_head(bytes) != Reach::kOk) return Fetch::kAbsent;
  const std::uint32_t sges = decoder_.decode_receive(entry.header, out);
  const std::size_t at_hand = (receive_entry_bytes_ - sizeof(entry.header)) / sizeof(abi::Sge);
  const std::span<const abi::Sge> copied = std::span(entry.sges).first(at_hand);
  if (copy_sges(receive_, sizeof(entry.header), sges, copied, out) != Reach::kOk) {
    return Fetch::kAbsent;
  }
  receive_.advance();
  static_cast<void>(receive_.publish());  // taken, also when the guest cannot be told yet
  ++receive_posted_.taken;
  return Fetch::kTaken;
}

void QueuePair::restart() {
  send_.reset();
  receive_.reset();
  send_posted_ = {};
  receive_posted_ = {};
  send_broken_ = false;
  receive_broken_ = false;
}

}  // namespace paravane::device
