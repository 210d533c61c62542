// QueuePair: what is saved of it, and of its two halves.

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include "verbs/life_state.h"
#include "verbs/queue_pair_impl.h"
#include "verbs/request_state.h"

namespace paravane::verbs {
namespace {

using state::Reader;
using state::Tag;
using state::Writer;

// Of a queue pair.
constexpr Tag kState{1};
constexpr Tag kAttributes{2};
constexpr Tag kConnection{3};  // may be missing
constexpr Tag kLife{4};
constexpr Tag kWantsDrained{5};
constexpr Tag kWasEstablished{6};
constexpr Tag kStats{7};
constexpr Tag kRequester{8};
constexpr Tag kResponder{9};
constexpr Tag kRespondersLife{10 | state::kMayBeSkipped};  // may be missing
// Of a requester.
constexpr Tag kRequest{1};  // a list
constexpr Tag kRetriesLeft{2};
constexpr Tag kRnrRetriesLeft{3};
constexpr Tag kRingDead{4};
// Of a responder.
constexpr Tag kReceive{1};  // a list
constexpr Tag kDone{2};
constexpr Tag kReceiveRingDead{3};
constexpr Tag kToldLast{4};
constexpr Tag kPeerWaits{5};
// Of what was executed.
constexpr Tag kPeerLife{1};
constexpr Tag kLastDone{2};
constexpr Tag kAtomic{3};  // a list
constexpr Tag kAtomicSerial{1};
constexpr Tag kAtomicBefore{2};

// Receives of a queue pair that are in hand, lent before their turn, or of datagrams that are
// arriving, one of each host; and those of all queue pairs of an adapter, beyond one each.
constexpr std::size_t kMostReceives = 264;
constexpr std::uint32_t kMostSpareReceives = 8192;
// Whatever max_dest_reads is now: it may have been more before.
constexpr std::size_t kMostAtomics = UINT8_MAX;

using Stat = std::uint64_t QueuePairStats::*;
constexpr std::array<Stat, 7> kStatistics{
    &QueuePairStats::sends,          &QueuePairStats::receives, &QueuePairStats::sent_bytes,
    &QueuePairStats::received_bytes, &QueuePairStats::errors,   &QueuePairStats::rnr_waits,
    &QueuePairStats::retries};

// From RTR on a connection has a peer, and what modify() demands.
bool is_connected_state(QpState state) {
  return state == QpState::kReadyToReceive || state == QpState::kReadyToSend ||
         state == QpState::kSendQueueDrain;
}

}  // namespace

void QueuePair::save(Writer& out) const {
  const Impl& impl = *impl_;
  out.choice(kState, impl.state);
  {
    const Writer::Group group(out, kAttributes);
    verbs::save(impl.attributes, out);
  }
  if (impl.connection.is_set() && type_ == QpType::kReliableConnected) {
    const Writer::Group group(out, kConnection);
    impl.connection.save(out);
  }
  out.number(kLife, impl.life);
  out.flag(kWantsDrained, impl.wants_drained_event);
  out.flag(kWasEstablished, impl.announced_established);
  {
    const Writer::Group group(out, kStats);
    for (std::size_t i = 0; i < kStatistics.size(); ++i) {
      out.number(Tag{static_cast<std::uint16_t>(i + 1)}, impl.stats.*kStatistics.at(i));
    }
  }
  {
    const Writer::Group group(out, kRequester);
    impl.requester.save(out);
  }
  {
    const Writer::Group group(out, kResponder);
    impl.responder.save(out);
  }
  if (!impl.peer_life.is_known()) return;
  const Writer::Group group(out, kRespondersLife);
  verbs::save(impl.peer_life, out);
}

void QueuePair::load(Reader& in) {
  Impl& impl = *impl_;
  const bool is_rc = type_ == QpType::kReliableConnected;
  const QpState state = in.choice(kState, QpState::kError);
  Reader attributes = in.group(kAttributes);
  impl.attributes = load_attributes(attributes);
  if (auto connection = in.group_if(kConnection)) {
    connection->expect(is_rc, "datagrams have no peer");
    impl.connection.load(*connection);
  }
  impl.life = in.number(kLife, adapter_.last_life_);
  impl.wants_drained_event = in.flag(kWantsDrained);
  impl.announced_established = in.flag(kWasEstablished);
  Reader stats = in.group(kStats);
  for (std::size_t i = 0; i < kStatistics.size(); ++i) {
    impl.stats.*kStatistics.at(i) = stats.number(Tag{static_cast<std::uint16_t>(i + 1)});
  }
  stats.end();
  Reader requester = in.group(kRequester);
  impl.requester.load(requester);
  Reader responder = in.group(kResponder);
  impl.responder.load(responder);
  if (auto life = in.group_if(kRespondersLife)) impl.peer_life = load_life(*life);
  in.end();
  const bool is_peered = impl.connection.is_set() && impl.attributes.path_mtu != 0;
  in.expect(!is_rc || !is_connected_state(state) || is_peered, "the connection has no peer");
  in.expect(!is_rc || state != QpState::kSendQueueError, "a connection is never in SQE");
  in.expect(state == QpState::kReset || impl.life != 0, "it has never left RESET");
  in.expect((is_rc && state != QpState::kReset) || !impl.peer_life.is_known(),
            "it has spoken with a peer without a connection");
  const bool is_idle = !impl.requester.has_request() && !impl.responder.has_taken();
  in.expect((state != QpState::kReset && state != QpState::kInit) || is_idle,
            "it has requests before it is ready");
  in.expect(state != QpState::kReadyToReceive || !impl.requester.has_request(),
            "it has sends before it may send");
  if (!in.good()) return;
  impl.state = state;
  path();
  kick();
}

// ---- Requester ----

void Requester::save(Writer& out) const {
  for (std::uint32_t i = 0; i < taken_; ++i) {
    const Writer::Group group(out, kRequest);
    verbs::save(window_.slot(i), out);
  }
  out.number(kRetriesLeft, attempt_.retries_left);
  out.number(kRnrRetriesLeft, attempt_.rnr_retries_left);
  out.flag(kRingDead, ring_dead_);
}

// What waited is tried at once, and judged anew. A peer that has executed it knows its serial.
void Requester::load(Reader& in) {
  std::uint64_t last_serial = 0;
  Adapter& adapter = qp_.adapter_;
  while (auto group = in.group_if(kRequest)) {
    if (!group->expect(taken_ == 0 || adapter.window_slots_ < kMaxWindowSlots,
                       "too many requests are under way")) {
      return;
    }
    SendRequest& request = adapter.scratch_request_;
    verbs::load(*group, request);
    group->expect(request.serial > last_serial && request.serial <= adapter.last_serial_,
                  "the serials of requests do not rise");
    last_serial = request.serial;
    if (!group->good()) return;
    keep(request);
  }
  attempt_ = {};
  attempt_.retries_left = static_cast<std::uint8_t>(in.number(kRetriesLeft, 7));
  attempt_.rnr_retries_left = static_cast<std::uint8_t>(in.number(kRnrRetriesLeft, 7));
  ring_dead_ = in.flag(kRingDead);
  in.end();
}

// ---- Responder ----

void Responder::save(Writer& out) const {
  const auto save_receive = [&out](const ReceiveRequest& receive) {
    const Writer::Group group(out, kReceive);
    verbs::save(receive, out);
  };
  if (receive_ != nullptr) save_receive(*receive_);
  if (rare_ != nullptr) {
    for (const auto& receive : rare_->taken) save_receive(*receive);
    for (const Arrival& arrival : rare_->arrivals) save_receive(*arrival.receive);
  }
  {
    const Writer::Group group(out, kDone);
    (rare_ != nullptr ? rare_->done : DoneMemory()).save(out);
  }
  out.flag(kReceiveRingDead, ring_dead_);
  out.flag(kToldLast, told_last_);
  out.flag(kPeerWaits, peer_waits_);
}

void Responder::load(Reader& in) {
  Adapter& adapter = qp_.adapter_;
  Rare& kept = rare();
  while (auto group = in.group_if(kReceive)) {
    const bool fits = kept.taken.size() < kMostReceives &&
                      (kept.taken.empty() || ++adapter.loaded_receives_ <= kMostSpareReceives);
    if (!group->expect(fits, "too many receives were taken")) return;
    auto receive = std::make_unique<ReceiveRequest>();
    verbs::load(*group, *receive);
    kept.taken.push_back(std::move(receive));
  }
  Reader done = in.group(kDone);
  kept.done.load(done, kMostAtomics);
  ring_dead_ = in.flag(kReceiveRingDead);
  told_last_ = in.flag(kToldLast);
  peer_waits_ = in.flag(kPeerWaits);
  in.end();
}

// ---- What was executed ----

void DoneMemory::save(Writer& out) const {
  {
    const Writer::Group group(out, kPeerLife);
    verbs::save(peer_, out);
  }
  out.number(kLastDone, last_);
  for (const Atomic& atomic : atomics_) {
    const Writer::Group group(out, kAtomic);
    out.number(kAtomicSerial, atomic.serial);
    out.number(kAtomicBefore, atomic.before);
  }
}

void DoneMemory::load(Reader& in, std::size_t most) {
  Reader peer = in.group(kPeerLife);
  peer_ = load_life(peer);
  last_ = in.number(kLastDone);
  while (auto group = in.group_if(kAtomic)) {
    if (!group->expect(atomics_.size() < most, "too many atomics are remembered")) return;
    const std::uint64_t serial = group->number(kAtomicSerial);
    const std::uint64_t before = group->number(kAtomicBefore);
    group->end();
    atomics_.push_back({.serial = serial, .before = before});
  }
  in.end();
}

}  // namespace paravane::verbs
