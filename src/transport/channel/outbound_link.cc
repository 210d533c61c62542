#include "transport/channel/outbound_link.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>
#include <vector>

#include "guestmem/payload.h"
#include "transport/channel/channel.h"
#include "verbs/adapter.h"
#include "verbs/connection.h"
#include "verbs/request_check.h"

namespace paravane::transport_channel {

using verbs::kNoAnswer;
using verbs::Outcome;

namespace {

// Of a turn.
constexpr std::size_t kMostClears = 16;

// What the longest turn of a link puts into a block.
constexpr std::size_t kMostPerTurn = sizeof(wire::Abort) + sizeof(wire::Open) +
                                     sizeof(wire::LifeTops) + sizeof(wire::Request) +
                                     kMostClears * sizeof(wire::ClearAnswer) + wire::kDirectFrom;

wire::GidBytes bytes_of(const verbs::Gid& gid) {
  return gid.raw;
}

// What a responder may answer: a kind and, with it, only statuses that a wire has.
std::optional<Outcome> outcome_of(const wire::Nak& frame) {
  Outcome outcome{.rnr_timer = frame.rnr_timer.get()};
  switch (frame.outcome.get()) {
    case std::to_underlying(Outcome::Kind::kNoAnswer): return kNoAnswer;
    case std::to_underlying(Outcome::Kind::kReceiverNotReady):
      outcome.kind = Outcome::Kind::kReceiverNotReady;
      return outcome;
    case std::to_underlying(Outcome::Kind::kRefused): outcome.kind = Outcome::Kind::kRefused; break;
    case std::to_underlying(Outcome::Kind::kMemoryAbsent):
      outcome.kind = Outcome::Kind::kMemoryAbsent;
      break;
    default: return std::nullopt;
  }
  for (const verbs::WcStatus status :
       {verbs::WcStatus::kRemoteInvalidRequest, verbs::WcStatus::kRemoteAccessError,
        verbs::WcStatus::kRemoteOperationError}) {
    if (frame.status.get() != std::to_underlying(status)) continue;
    outcome.status = status;
    return outcome;
  }
  return std::nullopt;
}

}  // namespace

OutboundLink::~OutboundLink() {
  sending.leave();
  leave_channel();
}

void OutboundLink::leave_channel() {
  if (link_ == 0) return;
  channel_->forget(*this, std::exchange(link_, 0));
}

void OutboundLink::submit(const verbs::SendRequest& request, const verbs::Path& path,
                          Channel& channel) {
  if (channel_ != &channel) {
    sending.leave();
    leave_channel();
    channel_ = &channel;
  }
  segment_ = path.segment;
  requests_.push_back({.request = &request, .length = request.sges.total_bytes()});
  if (!knows_connection(channel)) requests_.back().failed = kNoAnswer;
  join_line();
}

// Without long lives, another daemon than the one that knew this connection remembers nothing of
// it, and the upper half of a life is the number of the daemon that knows it.
bool OutboundLink::knows_connection(const Channel& channel) const {
  const verbs::Life known = qp_.peer_life();
  return channel.has_long_lives() || !known.is_known() || known.high == channel.peer_incarnation();
}

void OutboundLink::join_line() {
  if (sending.taken()) return;
  channel_->requests(next_is_long()).join(*this, qp_.adapter().id(), sending);
}

void OutboundLink::cancel() {
  const bool half_sent = std::ranges::any_of(requests_, [](const Outstanding& entry) {
    return entry.begun && !entry.answered && (!entry.is_sent() || entry.by_lane);
  });
  drop_requests();
  clears_.clear();
  if (!half_sent || link_ == 0) return;
  abort_due_ = true;
  join_line();
}

bool OutboundLink::on_channel_lost(const Outcome& outcome, Instant now) {
  sending.leave();
  link_ = 0;
  channel_ = nullptr;
  abort_due_ = false;
  clears_.clear();
  if (requests_.empty()) return false;
  drop_requests();
  qp_.on_outcome(outcome, now);
  return true;
}

OutboundLink::Outstanding* OutboundLink::next_to_send() {
  std::uint32_t ahead = 0;  // of one that goes by a lane, which comes first at the peer
  bool is_ahead = false;
  for (Outstanding& entry : requests_) {
    if (entry.failed) return nullptr;  // what follows will be submitted anew
    if (entry.answered) continue;
    if (!entry.is_sent()) {
      const bool may_go = !is_ahead || entry.begun || entry.brings_bytes() || entry.length == 0 ||
                          can_go_by_lane(entry);
      return may_go && ahead < wire::kMostAhead ? &entry : nullptr;
    }
    if (is_ahead) ++ahead;
    is_ahead = is_ahead || (entry.by_lane && !entry.brings_bytes());
  }
  return nullptr;
}

OutboundLink::Outstanding* OutboundLink::find(std::uint64_t serial) {
  const auto found = std::ranges::find(requests_, serial, &Outstanding::serial);
  return found != requests_.end() ? &*found : nullptr;
}

bool OutboundLink::next_is_long() {
  const Outstanding* next = next_to_send();
  return next != nullptr && !next->brings_bytes() && next->length >= wire::kDirectFrom &&
         (next->begun || !can_go_by_lane(*next));
}

bool OutboundLink::wants_ping(const PeerSigns& signs) const {
  return !requests_.empty() && requests_.front().is_sent() &&
         requests_.front().before_ping > signs.pings_sent;
}

Instant OutboundLink::silent_since(const PeerSigns& signs, Instant now) {
  if (requests_.empty()) return kNever;
  Outstanding& oldest = requests_.front();
  if (!oldest.is_sent() || oldest.before_ping > signs.pings_sent) return kNever;
  const bool was_read = oldest.before_ping <= signs.pings_answered;
  if (!oldest.is_ping_out || was_read != oldest.was_read) oldest.due_since = now;
  oldest.is_ping_out = true;
  oldest.was_read = was_read;
  const Instant since = std::max(oldest.due_since, last_answer_);
  // Answers that carry payload take turns at the peer's; all others go first.
  const bool takes_turns = oldest.request->opcode == verbs::WrOpcode::kRdmaRead;
  return takes_turns ? std::max(since, signs.read_answers_moved) : since;
}

bool OutboundLink::compose(wire::BlockWriter& block, std::optional<Direct>& direct) {
  if (block.room() < kMostPerTurn) return true;
  for (std::size_t i = 0; i < kMostClears && !clears_.empty(); ++i) {
    block.add(clears_.front());
    clears_.pop_front();
  }
  if (std::exchange(abort_due_, false)) block.add(wire::Abort{.link = Le32(link_)});
  deliver();
  Outstanding* next = next_to_send();
  if (next == nullptr) return !clears_.empty();
  if (!next->begun) {
    begin(*next, block, direct);
  } else {
    go_on(*next, block, direct);
  }
  return next_to_send() != nullptr || !clears_.empty();
}

void OutboundLink::open(wire::BlockWriter& block) {
  link_ = channel_->add(*this);
  const verbs::Connection& connection = qp_.connection();
  wire::Open frame{};
  frame.link.set(link_);
  frame.requester_qpn.set(qp_.number());
  frame.responder_qpn.set(qp_.dest_qpn());
  frame.gid_type.set(std::to_underlying(connection.gid_type()));
  frame.requester_gid = bytes_of(connection.sgid());
  frame.responder_gid = bytes_of(connection.dgid());
  frame.segment.set(std::to_underlying(segment_));
  const verbs::Life life = channel_->life_of(qp_);
  frame.requester_life.set(life.low);
  const verbs::Life peer_life = qp_.peer_life();
  frame.responder_life.set(peer_life.low);
  if (!channel_->has_long_lives()) return block.add(frame);
  const wire::LifeTops tops{.requester = Le64(life.high), .responder = Le64(peer_life.high)};
  std::memcpy(block.add(frame, sizeof tops).data(), &tops, sizeof tops);
}

Outcome OutboundLink::gather_own(const Outstanding& next, std::uint64_t offset,
                                 std::uint64_t length) {
  ExtentList& extents = channel_->scratch();
  extents.clear();
  return qp_.gather(*next.request, offset, length, verbs::local_need(next.request->opcode),
                    extents);
}

void OutboundLink::begin(Outstanding& next, wire::BlockWriter& block,
                         std::optional<Direct>& direct) {
  // Our own mistakes first: the peer never hears of a request that has any.
  const Outcome own = gather_own(next, 0, std::min(next.length, verbs::kSliceBytes));
  if (!is_done(own)) return fail_own(next, own);
  if (link_ == 0) open(block);
  const verbs::SendRequest& request = *next.request;
  wire::Request frame{};
  frame.link.set(link_);
  frame.serial.set(request.serial);
  frame.opcode.set(std::to_underlying(request.opcode));
  frame.solicited.set(request.solicited ? 1 : 0);
  frame.rkey.set(request.rkey);
  frame.remote_addr.set(request.remote_addr);
  frame.length.set(next.length);
  frame.imm = request.imm;
  frame.compare_add.set(request.compare_add);
  frame.swap.set(request.swap);
  next.by_lane = can_go_by_lane(next);
  frame.by_lane.set(next.by_lane ? 1 : 0);
  last_begun_ = std::max(last_begun_, request.serial);
  next.begun = true;
  next.before_ping = channel_->next_ping();
  if (next.brings_bytes() || next.by_lane) {
    block.add(frame);
  } else {
    add_payload(next, frame, block, direct);
  }
}

void OutboundLink::go_on(Outstanding& next, wire::BlockWriter& block,
                         std::optional<Direct>& direct) {
  add_payload(next, wire::More{.link = Le32(link_), .offset = Le64(next.sent)}, block, direct);
}

template <typename Frame>
void OutboundLink::add_payload(Outstanding& next, const Frame& frame, wire::BlockWriter& block,
                               std::optional<Direct>& direct) {
  const std::uint64_t bytes =
      std::min<std::uint64_t>(next.length - next.sent, channel_->piece_bytes());
  if (next.length >= wire::kDirectFrom) {
    block.add(frame);
    direct = Direct{.request = this, .serial = next.serial(), .offset = next.sent, .bytes = bytes};
  } else {
    // begin() has gathered all of it.
    const std::span<std::byte> inside = block.add(frame, bytes);
    if (!gather_payload(channel_->scratch(), inside)) {
      block.take_back();
      return fail_own(next,
                      {.kind = Outcome::Kind::kLocalError, .status = verbs::WcStatus::kFatal});
    }
    channel_->count_staged(bytes);
  }
  next.sent += bytes;
  next.before_ping = channel_->next_ping();
  channel_->count_sent(bytes);
}

void OutboundLink::fail_own(Outstanding& next, const Outcome& outcome) {
  next.failed = outcome;
  if (next.begun && link_ != 0) {
    abort_due_ = true;
    join_line();
  }
  deliver();
}

bool OutboundLink::gather(const Direct& direct, std::uint64_t done, ExtentList& out) {
  Outstanding* entry = find(direct.serial);
  if (entry == nullptr || entry->failed) return false;
  const Outcome own = qp_.gather(*entry->request, direct.offset + done, direct.bytes - done,
                                 verbs::local_need(entry->request->opcode), out);
  if (!is_done(own)) fail_own(*entry, own);
  return is_done(own);
}

void OutboundLink::on_memory_lost(const Direct& direct) {
  Outstanding* entry = find(direct.serial);
  if (entry == nullptr || entry->failed) return;
  fail_own(*entry, {.kind = Outcome::Kind::kLocalError, .status = verbs::WcStatus::kFatal});
}

void OutboundLink::deliver() {
  while (!requests_.empty()) {
    const Outstanding& oldest = requests_.front();
    if (oldest.failed) {
      const Outcome outcome = *oldest.failed;
      drop_requests();
      return qp_.on_outcome(outcome, channel_->now());
    }
    if (!oldest.answered) break;
    requests_.pop_front();
    last_answer_ = channel_->now();
    qp_.on_outcome({}, channel_->now());
  }
  // What waited for a message by a lane.
  if (channel_ != nullptr && channel_->lanes() != nullptr && next_to_send() != nullptr) join_line();
}

bool OutboundLink::on_opened(const wire::Opened& frame, std::span<const std::byte> more) {
  verbs::Life life{.high = channel_->peer_incarnation(), .low = frame.responder_life.get()};
  if (channel_->has_long_lives()) {
    wire::LifeTop top;
    if (more.size() != sizeof top) return false;
    std::memcpy(&top, more.data(), sizeof top);
    life.high = top.responder.get();
  }
  if (life.high == 0 || life.low == 0) return false;
  qp_.set_peer_life(life);
  return true;
}

bool OutboundLink::on_closed(const wire::Closed& /*frame*/) {
  leave_channel();
  if (requests_.empty()) return true;
  drop_requests();
  qp_.on_outcome(kNoAnswer, channel_->now());
  return true;
}

bool OutboundLink::on_ready(const wire::Ready& /*frame*/) {
  qp_.on_peer_ready();
  return true;
}

// It may tell of what was sent over a channel before this one.
bool OutboundLink::on_ack(const wire::Ack& frame) {
  if (frame.serial.get() > last_begun_) return false;
  for (Outstanding& entry : requests_) {
    if (entry.serial() > frame.serial.get()) break;
    if (!entry.brings_bytes()) entry.answered = true;
  }
  deliver();
  return true;
}

bool OutboundLink::on_nak(const wire::Nak& frame) {
  const std::optional<Outcome> outcome = outcome_of(frame);
  const std::uint64_t serial = frame.serial.get();
  if (!outcome || serial > last_begun_) return false;
  Outstanding* refused = find(serial);
  if (refused == nullptr || !refused->begun) return true;  // of an earlier try
  for (Outstanding& entry : requests_) {
    if (&entry == refused) break;
    if (!entry.brings_bytes()) entry.answered = true;
  }
  if (!refused->failed) refused->failed = *outcome;
  deliver();
  return true;
}

bool OutboundLink::on_word(const wire::Word& frame) {
  if (frame.serial.get() > last_begun_) return false;
  Outstanding* entry = find(frame.serial.get());
  if (entry == nullptr || entry->answered || entry->failed) return true;
  if (!verbs::is_atomic(entry->request->opcode)) return false;
  const Outcome own = gather_own(*entry, 0, entry->length);
  if (!is_done(own)) {
    fail_own(*entry, own);
    return true;
  }
  const Le64 value(frame.value.get());
  if (!scatter_payload(std::as_bytes(std::span(&value, 1)), channel_->scratch())) {
    fail_own(*entry, {.kind = Outcome::Kind::kLocalError, .status = verbs::WcStatus::kFatal});
    return true;
  }
  entry->answered = true;
  deliver();
  return true;
}

// READs are answered one after the other, each from its first byte to its last.
bool OutboundLink::on_data(const wire::Data& frame, std::uint64_t bytes,
                           std::optional<Sink>& sink) {
  if (frame.serial.get() > last_begun_) return false;
  Outstanding* entry = find(frame.serial.get());
  if (entry == nullptr || entry->answered || entry->failed) return true;
  if (entry->request->opcode != verbs::WrOpcode::kRdmaRead) return false;
  if (entry->waits_for_lane()) return true;  // its memory is the adapter's
  // What is left of the answer to an earlier try.
  if (!entry->begun || frame.offset.get() != entry->received) return true;
  if (bytes > entry->length - entry->received) return false;
  if (bytes == 0 && entry->length != 0) return false;
  sink = Sink{.answer = this,
              .serial = entry->serial(),
              .offset = entry->received,
              .bytes = bytes,
              .ends_message = entry->received + bytes == entry->length};
  return true;
}

bool OutboundLink::place(const Sink& sink, std::uint64_t from, std::uint64_t length,
                         ExtentList& out) {
  Outstanding* entry = find(sink.serial);
  if (entry == nullptr || entry->failed) return false;
  const Outcome own =
      qp_.gather(*entry->request, from, length, verbs::local_need(entry->request->opcode), out);
  if (!is_done(own)) fail_own(*entry, own);
  return is_done(own);
}

void OutboundLink::on_placed(const Sink& sink, Arrival arrival) {
  Outstanding* entry = find(sink.serial);
  if (entry == nullptr || entry->failed || entry->received != sink.offset) return;
  if (qp_.adapter().memory().failed()) {
    fail_own(*entry, {.kind = Outcome::Kind::kLocalError, .status = verbs::WcStatus::kFatal});
    return;
  }
  if (arrival == Arrival::kVoid) return;
  if (arrival == Arrival::kDamaged) {
    entry->failed = kNoAnswer;  // asked for again
  } else {
    entry->received += sink.bytes;
    last_answer_ = channel_->now();
    channel_->note_read_answer(sink.bytes);
    entry->answered = entry->received == entry->length;
  }
  deliver();
}

}  // namespace paravane::transport_channel
