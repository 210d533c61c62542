// OutboundLink: messages and READs that go by a lane.

#include <algorithm>
#include <utility>
#include <vector>

#include "transport/channel/channel.h"
#include "transport/channel/outbound_link.h"
#include "verbs/adapter.h"

namespace paravane::transport_channel {

using verbs::Outcome;

// Long enough, and its memory within the adapter's reach.
bool OutboundLink::can_go_by_lane(const Outstanding& next) {
  Lanes* lanes = channel_->lanes();
  if (lanes == nullptr || next.length < wire::kLaneFrom) return false;
  const Outcome own = gather_own(next, 0, std::min(next.length, wire::kLanePieceBytes));
  return is_done(own) && lanes->may_send(qp_, channel_->scratch());
}

// ---- Messages ----

bool OutboundLink::on_clear(const wire::Clear& frame) {
  Lanes* lanes = channel_->lanes();
  if (lanes == nullptr || frame.serial.get() > last_begun_) return false;
  Outstanding* entry = find(frame.serial.get());
  const bool is_wanted = entry != nullptr && entry->begun && !entry->failed && !entry->answered &&
                         entry->waits_for_lane() && !entry->brings_bytes();
  if (is_wanted) last_answer_ = channel_->now();
  if (frame.lane.get() == 0) {
    if (!is_wanted) return true;
    if (frame.offset.get() > entry->cleared) return false;
    entry->in_stream = true;
    entry->sent = frame.offset.get();
    join_line();
    return true;
  }
  const Lanes::Sent sent =
      is_wanted && !entry->is_void
          ? send_piece(*entry, frame)
          : lanes->send_void({.lane = frame.lane.get(), .number = frame.number.get()});
  return sent != Lanes::Sent::kInvalid;
}

Lanes::Sent OutboundLink::send_piece(Outstanding& entry, const wire::Clear& frame) {
  Lanes& lanes = *channel_->lanes();
  const Lanes::Cleared cleared{.lane = frame.lane.get(), .number = frame.number.get()};
  const std::uint64_t offset = frame.offset.get();
  const std::uint64_t bytes = frame.bytes.get();
  if (offset != entry.cleared || bytes == 0 || bytes > wire::kLanePieceBytes ||
      bytes > entry.length - offset) {
    return Lanes::Sent::kInvalid;
  }
  std::vector<std::uint32_t> keys;
  const Outcome own =
      noting_keys(qp_.adapter().regions(), keys, [&] { return gather_own(entry, offset, bytes); });
  if (!is_done(own)) {
    const Lanes::Sent sent = lanes.send_void(cleared);
    fail_own(entry, own);
    return sent;
  }
  const Lanes::Sent sent =
      lanes.send(cleared, {.qp = qp_, .extents = channel_->scratch(), .keys = std::move(keys)});
  entry.cleared += bytes;
  entry.is_void = sent == Lanes::Sent::kVoid;
  entry.before_ping = channel_->next_ping();
  if (sent == Lanes::Sent::kYes) channel_->count_sent(bytes);
  return sent;
}

// ---- READs by a lane ----

bool OutboundLink::on_answer_due(const wire::AnswerDue& frame) {
  if (channel_->lanes() == nullptr || frame.serial.get() > last_begun_) return false;
  Outstanding* entry = find(frame.serial.get());
  if (entry == nullptr || !entry->begun || entry->answered || entry->failed) return true;
  if (!entry->by_lane || !entry->brings_bytes()) return false;
  // Of an earlier try, or said twice.
  if (std::exchange(entry->is_due, true)) return true;
  last_answer_ = channel_->now();
  clear_pieces(*entry);
  return true;
}

void OutboundLink::clear_pieces(Outstanding& entry) {
  Lanes& lanes = *channel_->lanes();
  LanePieces& pieces = entry.pieces;
  while (!entry.failed && !pieces.leaves_lane && pieces.cleared < entry.length &&
         lanes.room_for(qp_, pieces.under_way) > 0) {
    clear_piece(entry);
  }
  if (entry.failed) return deliver();
  if (pieces.under_way == 0 && entry.received < entry.length) clear_stream(entry);
}

void OutboundLink::clear_piece(Outstanding& entry) {
  LanePieces& pieces = entry.pieces;
  const std::uint64_t bytes = std::min(entry.length - pieces.cleared, wire::kLanePieceBytes);
  std::vector<std::uint32_t> keys;
  const Outcome own = noting_keys(qp_.adapter().regions(), keys,
                                  [&] { return gather_own(entry, pieces.cleared, bytes); });
  if (!is_done(own)) {
    entry.failed = own;
    return;
  }
  const Lanes::Owner owner{
      .link = link_, .serial = entry.serial(), .offset = pieces.cleared, .is_answer = true};
  const std::uint64_t lent = channel_->lanes()->receive(
      *this, owner, {.qp = qp_, .extents = channel_->scratch(), .keys = std::move(keys)});
  if (lent == 0) {
    pieces.leaves_lane = true;
    return;
  }
  pieces.cleared += lent;
  ++pieces.under_way;
}

void OutboundLink::clear_stream(Outstanding& entry) {
  if (std::exchange(entry.in_stream, true)) return;  // on_lane_closed() has
  wire::ClearAnswer frame{};
  frame.link.set(link_);
  frame.serial.set(entry.serial());
  frame.offset.set(entry.received);
  clears_.push_back(frame);
  join_line();
}

void OutboundLink::on_piece(std::uint64_t serial, std::uint32_t bytes, bool is_void) {
  Outstanding* entry = find(serial);
  if (entry == nullptr || entry->pieces.under_way == 0) return;
  if (entry->pieces.take(bytes, is_void)) {
    on_placed({.answer = this, .serial = serial, .offset = entry->received, .bytes = bytes},
              Arrival::kIntact);
    entry = find(serial);
  }
  if (entry != nullptr && !entry->failed && !entry->answered) clear_pieces(*entry);
}

void OutboundLink::on_lane_closed() {
  for (Outstanding& entry : requests_) {
    if (std::exchange(entry.pieces.under_way, 0) == 0) continue;
    entry.pieces.leaves_lane = true;
    if (!entry.failed && !entry.answered) clear_stream(entry);
  }
}

void OutboundLink::recall_pieces() {
  const bool has_pieces = std::ranges::any_of(
      requests_, [](const Outstanding& entry) { return entry.pieces.under_way > 0; });
  if (!has_pieces) return;
  for (Outstanding& entry : requests_) entry.pieces.under_way = 0;
  qp_.adapter().memory().loans().recall_queue_pair(qp_.number());
}

void OutboundLink::drop_requests() {
  recall_pieces();
  requests_.clear();
}

}  // namespace paravane::transport_channel
