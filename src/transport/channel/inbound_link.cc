#include "transport/channel/inbound_link.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "guestmem/payload.h"
#include "transport/channel/channel.h"
#include "verbs/adapter.h"
#include "verbs/connection.h"

namespace paravane::transport_channel {

using verbs::kNoAnswer;
using verbs::Outcome;
using verbs::RemoteRequest;
using verbs::WrOpcode;

namespace {

// READs and atomics that a peer may have under way, whatever it agreed with the program.
constexpr std::size_t kMostAnswers = 256;

// Of a link's turn.
constexpr std::size_t kMostWords = 16;

// What the longest turn of a link puts into a block.
constexpr std::size_t kMostBackPerTurn =
    sizeof(wire::Opened) + sizeof(wire::LifeTop) + sizeof(wire::Ack) + sizeof(wire::Nak) +
    sizeof(wire::Ready) + sizeof(wire::AnswerDue) + sizeof(wire::Clear) +
    kMostWords * sizeof(wire::Word) + sizeof(wire::Data) + wire::kDirectFrom;

std::optional<WrOpcode> opcode_of(std::uint8_t raw) {
  for (const WrOpcode opcode :
       {WrOpcode::kRdmaWrite, WrOpcode::kRdmaWriteWithImm, WrOpcode::kSend, WrOpcode::kSendWithImm,
        WrOpcode::kRdmaRead, WrOpcode::kCompareAndSwap, WrOpcode::kFetchAndAdd,
        WrOpcode::kSendWithInvalidate}) {
    if (raw == std::to_underlying(opcode)) return opcode;
  }
  return std::nullopt;
}

}  // namespace

InboundLink::~InboundLink() {
  leave_lines();
  leave();
}

// Tells the requester that there is no listener any more.
void InboundLink::leave() {
  if (link_ == 0) return;
  leave_lines();
  channel_->forget(*this, std::exchange(link_, 0));
  channel_ = nullptr;
}

bool InboundLink::open(std::uint32_t number, const LinkLives& lives, Channel& channel) {
  const bool is_other = lives.responder.is_known() && lives.responder != channel.life_of(qp_);
  if (is_other) return false;
  on_abort();
  leave();
  if (peer_life_ != lives.requester) refused_ = 0;
  heard_ = 0;
  qp_.responder().done().meet(lives.requester);
  words_.clear();
  reads_.clear();
  refusal_due_.reset();
  ack_due_ = false;
  ready_due_ = false;
  peer_life_ = lives.requester;
  channel_ = &channel;
  link_ = number;
  opened_due_ = true;
  join_lines();
  return true;
}

bool InboundLink::has_read(bool is_long) const {
  return !reads_.empty() && !reads_.front().by_lane &&
         (reads_.front().request.length >= wire::kDirectFrom) == is_long;
}

bool InboundLink::has_short() const {
  return opened_due_ || ack_due_ || ready_due_ || refusal_due_ || !words_.empty() ||
         leaves_lane() || is_answer_due() || has_read(false);
}

void InboundLink::join_lines() {
  const verbs::AdapterId adapter = qp_.adapter().id();
  if (has_short() && !answering.taken()) {
    channel_->answers(false).join(*this, adapter, answering);
  }
  if (has_read(true) && !answering_long.taken()) {
    channel_->answers(true).join(*this, adapter, answering_long);
  }
}

void InboundLink::leave_lines() {
  answering.leave();
  answering_long.leave();
}

void InboundLink::on_channel_lost() {
  on_abort();
  leave_lines();
  channel_ = nullptr;
  link_ = 0;
  words_.clear();
  reads_.clear();
  refusal_due_.reset();
}

// No host can speak for a GID that is not its own, nor reach a queue pair that does not
// name the requester: the directory may have changed since the link was opened.
bool InboundLink::is_connected() {
  const verbs::Path* path = qp_.path();
  return path != nullptr && channel_->is_way_of(*path);
}

void InboundLink::on_abort() {
  drop_reads_by_lane(0);
  recall_pieces();
  parked_.clear();
  message_.reset();
}

bool InboundLink::on_request(const wire::Request& frame, std::span<const std::byte> inside,
                             std::uint64_t direct_bytes, std::optional<Sink>& sink) {
  const std::optional<WrOpcode> opcode = opcode_of(frame.opcode.get());
  if (!opcode || frame.serial.get() == 0) return false;
  const bool has_payload = !inside.empty() || direct_bytes != 0;
  if (verbs::brings_bytes(*opcode) && has_payload) return false;
  const bool by_lane = frame.by_lane.get() != 0;
  if (by_lane && (channel_->lanes() == nullptr || verbs::is_atomic(*opcode) || has_payload ||
                  frame.length.get() < wire::kLaneFrom)) {
    return false;
  }
  const RemoteRequest request{.opcode = *opcode,
                              .solicited = frame.solicited.get() != 0,
                              .source_qpn = qp_.dest_qpn(),
                              .remote_addr = frame.remote_addr.get(),
                              .rkey = frame.rkey.get(),
                              .length = frame.length.get(),
                              .imm = frame.imm,
                              .compare_add = frame.compare_add.get(),
                              .swap = frame.swap.get(),
                              .serial = frame.serial.get()};
  if (waits_for_lane() && !begins_anew(request.serial)) {
    return !has_payload && park(request, by_lane);
  }
  return act({.request = request, .by_lane = by_lane}, inside, direct_bytes, sink);
}

bool InboundLink::act(const Parked& one, std::span<const std::byte> inside,
                      std::uint64_t direct_bytes, std::optional<Sink>& sink) {
  const RemoteRequest& request = one.request;
  message_ = Message{.serial = request.serial,
                     .length = request.length,
                     .came_by_lane = one.is_by_lane(),
                     .by_lane = one.by_lane,
                     .done = one.pieces.placed,
                     .pieces = one.pieces};
  if (!is_connected()) {
    on_abort();
    leave();
    return true;
  }
  heard_ = std::max(heard_, request.serial);
  if (qp_.responder().done().has(request.serial)) {
    answer_again(request);
  } else if (refused_ == 0 || refused_ == request.serial) {
    begin(request, one.is_by_lane() ? verbs::Arrives::kByLane : verbs::Arrives::kInPieces);
  }
  if (link_ == 0) return true;  // no listener
  if (verbs::brings_bytes(request.opcode)) {
    message_.reset();
    return words_.size() + reads_.size() <= kMostAnswers;
  }
  if (one.by_lane) {
    clear_pieces();
    return true;
  }
  return take_payload(inside, direct_bytes, sink);
}

void InboundLink::begin(const RemoteRequest& request, verbs::Arrives arrives) {
  refused_ = 0;
  auto begun = qp_.responder().begin(request, arrives);
  if (!begun) return refuse(begun.error());
  message_->placement = std::move(*begun);
  if (verbs::brings_bytes(request.opcode)) begin_answer(request);
}

void InboundLink::begin_answer(const RemoteRequest& request) {
  if (verbs::is_atomic(request.opcode)) {
    std::uint64_t before = 0;
    const Outcome found = message_->placement->atomic(before);
    if (!is_done(found)) return refuse(found);
    words_.push_back({.serial = request.serial, .value = before});
  } else {
    drop_reads_by_lane(request.serial);
    reads_.push_back({.request = request, .by_lane = message_->by_lane});
  }
  if (const Outcome finished = message_->placement->finish(); !is_done(finished)) {
    return refuse(finished);
  }
  qp_.responder().done().note(request.serial);
  join_lines();
}

// It was done before its answer was lost. A READ is done again, which changes nothing.
void InboundLink::answer_again(const RemoteRequest& request) {
  qp_.adapter().counters().duplicates.add();
  if (!verbs::brings_bytes(request.opcode)) {
    ack_due_ = true;
    return join_lines();
  }
  auto begun = qp_.responder().begin(request, verbs::Arrives::kInPieces);
  if (!begun) return refuse(begun.error());
  message_->placement = std::move(*begun);
  begin_answer(request);
}

bool InboundLink::on_more(const wire::More& frame, std::span<const std::byte> inside,
                          std::uint64_t direct_bytes, std::optional<Sink>& sink) {
  if (!message_ || frame.offset.get() != message_->done) return false;
  if (message_->by_lane) return false;  // it was not cleared for the stream
  return take_payload(inside, direct_bytes, sink);
}

bool InboundLink::take_payload(std::span<const std::byte> inside, std::uint64_t direct_bytes,
                               std::optional<Sink>& sink) {
  const std::uint64_t bytes = inside.size() + direct_bytes;
  const std::uint64_t left = message_->length - message_->done;
  if (bytes > left || (bytes == 0 && left != 0)) return false;
  if (direct_bytes == 0) {
    take_inside(inside);
    return true;
  }
  if (!inside.empty()) return false;
  sink = Sink{.message = this,
              .serial = message_->serial,
              .offset = message_->done,
              .bytes = bytes,
              .ends_message = bytes == left};
  return true;
}

void InboundLink::take_inside(std::span<const std::byte> inside) {
  const Sink sink{.message = this,
                  .serial = message_->serial,
                  .offset = message_->done,
                  .bytes = inside.size(),
                  .ends_message = message_->done + inside.size() == message_->length};
  ExtentList& extents = channel_->scratch();
  extents.clear();
  if (!inside.empty() && place(sink, sink.offset, inside.size(), extents)) {
    channel_->count_staged(inside.size());
    // A failure of the memory is seen by on_placed().
    static_cast<void>(scatter_payload(inside, extents));
  }
  on_placed(sink, Arrival::kIntact);
}

bool InboundLink::place(const Sink& sink, std::uint64_t from, std::uint64_t length,
                        ExtentList& out) {
  if (!message_ || message_->serial != sink.serial || !message_->placement) return false;
  const Outcome placed = message_->placement->extents(from, length, out);
  if (!is_done(placed)) refuse(placed);
  return is_done(placed);
}

void InboundLink::on_placed(const Sink& sink, Arrival arrival) {
  if (!message_ || message_->serial != sink.serial) return;
  if (arrival == Arrival::kVoid) return on_abort();
  message_->done += sink.bytes;
  if (message_->placement) {
    if (qp_.adapter().memory().failed()) {
      refuse(qp_.responder().memory_failed());
    } else if (arrival == Arrival::kDamaged || !message_->placement->is_live()) {
      refuse(kNoAnswer);
    } else if (message_->done == message_->length) {
      finish();
    }
  }
  if (!message_ || message_->done < message_->length) return;
  message_.reset();
  act_on_parked();
}

void InboundLink::finish() {
  const std::uint64_t serial = message_->serial;
  const Outcome finished = message_->placement->finish();
  if (!is_done(finished)) return refuse(finished);
  channel_->count_received(message_->length);
  qp_.responder().done().note(serial);
  ack_due_ = true;
  join_lines();
}

// Of the message under way; what is left of it is thrown away.
void InboundLink::refuse(const Outcome& outcome) {
  recall_pieces();
  parked_.clear();  // what comes after it is dropped
  message_->came_by_lane = false;
  message_->placement.reset();
  refused_ = message_->serial;
  refusal_due_ = Refusal{.serial = message_->serial, .outcome = outcome};
  join_lines();
}

void InboundLink::tell_ready() {
  if (link_ == 0) return;
  ready_due_ = true;
  join_lines();
}

void InboundLink::add_opened(wire::BlockWriter& block) const {
  const verbs::Life life = channel_->life_of(qp_);
  const wire::Opened frame{.link = Le32(link_), .responder_life = Le64(life.low)};
  if (!channel_->has_long_lives()) return block.add(frame);
  const wire::LifeTop top{.responder = Le64(life.high)};
  std::memcpy(block.add(frame, sizeof top).data(), &top, sizeof top);
}

void InboundLink::compose(wire::BlockWriter& block) {
  if (block.room() < kMostBackPerTurn) return join_lines();
  const Le32 link(link_);
  if (std::exchange(opened_due_, false)) {
    add_opened(block);
  }
  if (std::exchange(ack_due_, false)) {
    // Over another path, more may have been executed.
    const std::uint64_t done = std::min(qp_.responder().done().last(), heard_);
    block.add(wire::Ack{.link = link, .serial = Le64(done)});
  }
  if (is_answer_due()) {
    reads_.front().is_told = true;
    block.add(wire::AnswerDue{.link = link, .serial = Le64(reads_.front().request.serial)});
  }
  if (leaves_lane()) add_stream_clear(block);
  if (const auto refusal = std::exchange(refusal_due_, std::nullopt)) {
    wire::Nak frame;
    frame.link = link;
    frame.serial.set(refusal->serial);
    frame.outcome.set(std::to_underlying(refusal->outcome.kind));
    frame.status.set(std::to_underlying(refusal->outcome.status));
    frame.rnr_timer.set(refusal->outcome.rnr_timer);
    block.add(frame);
  }
  if (std::exchange(ready_due_, false)) block.add(wire::Ready{.link = link});
  for (std::size_t i = 0; i < kMostWords && !words_.empty(); ++i) {
    block.add(wire::Word{
        .link = link, .serial = Le64(words_.front().serial), .value = Le64(words_.front().value)});
    words_.pop_front();
  }
  if (has_read(false)) compose_read(block);
  join_lines();
}

// A piece of the oldest READ. It is ended by gather(), or by on_sent() of the last piece.
void InboundLink::compose_long(wire::BlockWriter& block, std::optional<Direct>& direct) {
  if (!has_read(true)) return;
  Read& read = reads_.front();
  const std::uint64_t serial = read.request.serial;
  const std::uint64_t bytes =
      std::min<std::uint64_t>(read.request.length - read.sent, channel_->piece_bytes());
  block.add(wire::Data{.link = Le32(link_), .serial = Le64(serial), .offset = Le64(read.sent)});
  direct = Direct{.answer = this, .serial = serial, .offset = read.sent, .bytes = bytes};
  read.sent += bytes;
  if (read.sent < read.request.length) join_lines();
}

// The oldest READ, whole.
void InboundLink::compose_read(wire::BlockWriter& block) {
  const RemoteRequest& request = reads_.front().request;
  const std::uint64_t bytes = request.length;
  const wire::Data frame{.link = Le32(link_), .serial = Le64(request.serial), .offset = Le64(0)};
  ExtentList& extents = channel_->scratch();
  extents.clear();
  const Outcome found =
      bytes > 0 ? qp_.responder().read_extents(request, 0, bytes, extents) : Outcome{};
  if (!is_done(found)) {
    refusal_due_ = Refusal{.serial = request.serial, .outcome = found};
  } else {
    const std::span<std::byte> inside = block.add(frame, bytes);
    if (!gather_payload(extents, inside)) {
      block.take_back();
      refusal_due_ = Refusal{.serial = request.serial, .outcome = qp_.responder().memory_failed()};
    }
    channel_->count_staged(bytes);
  }
  reads_.pop_front();
}

void InboundLink::on_sent(const Direct& direct) {
  if (reads_.empty() || reads_.front().request.serial != direct.serial) return;
  if (reads_.front().sent < reads_.front().request.length) return;
  reads_.pop_front();
  join_lines();
}

bool InboundLink::gather(const Direct& direct, std::uint64_t done, ExtentList& out) {
  if (reads_.empty() || reads_.front().request.serial != direct.serial) return false;
  const RemoteRequest& request = reads_.front().request;
  const Outcome found =
      qp_.responder().read_extents(request, direct.offset + done, direct.bytes - done, out);
  if (is_done(found)) return true;
  refusal_due_ = Refusal{.serial = request.serial, .outcome = found};
  reads_.pop_front();
  join_lines();
  return false;
}

void InboundLink::on_memory_lost(const Direct& direct) {
  if (reads_.empty() || reads_.front().request.serial != direct.serial) return;
  refusal_due_ = Refusal{.serial = direct.serial, .outcome = qp_.responder().memory_failed()};
  reads_.pop_front();
  join_lines();
}

}  // namespace paravane::transport_channel
