// InboundLink: messages that come by a lane.

#include <algorithm>
#include <utility>
#include <vector>

#include "transport/channel/channel.h"
#include "transport/channel/inbound_link.h"
#include "verbs/adapter.h"

namespace paravane::transport_channel {

bool InboundLink::park(const verbs::RemoteRequest& request, bool by_lane) {
  const bool needs_payload = !by_lane && !verbs::brings_bytes(request.opcode) && request.length > 0;
  if (needs_payload || parked_.size() >= wire::kMostAhead) return false;
  parked_.push_back({.request = request, .by_lane = by_lane});
  clear_ahead();
  return true;
}

// The requester has given up the message in progress, or one behind it, and begins with that.
bool InboundLink::begins_anew(std::uint64_t serial) {
  const std::uint64_t last = parked_.empty() ? message_->serial : parked_.back().request.serial;
  if (serial > last) return false;
  recall_pieces();
  parked_.clear();
  message_.reset();
  return true;
}

void InboundLink::act_on_parked() {
  while (!parked_.empty() && !waits_for_lane() && link_ != 0) {
    const Parked parked = parked_.front();
    parked_.pop_front();
    std::optional<Sink> sink;
    if (!act(parked, {}, 0, sink)) {
      return channel_->break_off("protocol: too many requests wait for their answers");
    }
  }
}

bool InboundLink::has_room(const Lanes& lanes) const {
  return lanes.room_for(qp_, under_way_) > 0;
}

// As many as the lane has room for. A message that was refused, or that was done before, has no
// placement, and its bytes do not come.
void InboundLink::clear_pieces() {
  Lanes& lanes = *channel_->lanes();
  while (message_ && message_->placement && message_->by_lane && !message_->pieces.leaves_lane &&
         message_->pieces.cleared < message_->length && has_room(lanes)) {
    clear_piece(lanes);
  }
  if (!message_ || !message_->by_lane) return;
  if (!message_->placement) {
    message_.reset();
    return act_on_parked();
  }
  if (message_->done == message_->length) {  // all came before its turn
    return on_placed({.message = this, .serial = message_->serial, .offset = message_->done},
                     Arrival::kIntact);
  }
  LanePieces& pieces = message_->pieces;
  if (pieces.under_way == 0 && pieces.cleared < message_->length) pieces.leaves_lane = true;
  join_lines();
  clear_ahead();
}

void InboundLink::clear_piece(Lanes& lanes) {
  LanePieces& pieces = message_->pieces;
  const std::uint64_t bytes = std::min(message_->length - pieces.cleared, wire::kLanePieceBytes);
  std::vector<std::uint32_t> keys;
  ExtentList& found = channel_->scratch();
  found.clear();
  const verbs::Outcome placed = noting_keys(qp_.adapter().regions(), keys, [&] {
    return message_->placement->extents(pieces.cleared, bytes, found);
  });
  if (!is_done(placed)) return refuse(placed);
  lend(lanes, message_->serial, std::move(keys), pieces);
}

// Of the messages behind the one in progress, while the payload of all before them is on its way.
// What a program may see of them is done when their turn has come.
void InboundLink::clear_ahead() {
  const bool is_under_way = message_ && message_->by_lane && message_->placement &&
                            message_->placement->is_live() && !message_->pieces.leaves_lane &&
                            message_->pieces.cleared == message_->length;
  if (!is_under_way || !is_connected()) return;
  Lanes& lanes = *channel_->lanes();
  std::uint32_t receives = 0;
  for (Parked& parked : parked_) {
    if (!parked.is_by_lane() || qp_.responder().done().has(parked.request.serial)) return;
    if (parked.pieces.leaves_lane) return;
    while (parked.pieces.cleared < parked.request.length) {
      if (!has_room(lanes) || !clear_piece_ahead(lanes, parked, receives)) return;
    }
    if (verbs::consumes_receive(parked.request.opcode)) ++receives;
  }
}

bool InboundLink::clear_piece_ahead(Lanes& lanes, Parked& parked, std::uint32_t receives) {
  LanePieces& pieces = parked.pieces;
  const verbs::Stretch stretch{
      .offset = pieces.cleared,
      .length = std::min(parked.request.length - pieces.cleared, wire::kLanePieceBytes)};
  std::vector<std::uint32_t> keys;
  ExtentList& found = channel_->scratch();
  found.clear();
  const bool is_found = noting_keys(qp_.adapter().regions(), keys, [&] {
    return qp_.responder().extents_ahead(parked.request, receives, stretch, found);
  });
  if (!is_found) return false;
  lend(lanes, parked.request.serial, std::move(keys), pieces);
  return !pieces.leaves_lane;
}

void InboundLink::lend(Lanes& lanes, std::uint64_t serial, std::vector<std::uint32_t> keys,
                       LanePieces& pieces) {
  const std::uint64_t lent =
      lanes.receive(*this, {.link = link_, .serial = serial, .offset = pieces.cleared},
                    {.qp = qp_, .extents = channel_->scratch(), .keys = std::move(keys)});
  if (lent == 0) {
    pieces.leaves_lane = true;
    return;
  }
  pieces.cleared += lent;
  ++pieces.under_way;
  ++under_way_;
  qp_.responder().note_lent();
}

// What is left comes in the stream.
void InboundLink::add_stream_clear(wire::BlockWriter& block) {
  message_->by_lane = false;
  wire::Clear frame{};
  frame.link.set(link_);
  frame.serial.set(message_->serial);
  frame.offset.set(message_->done);
  block.add(frame);
}

// nullptr: the message was given up.
LanePieces* InboundLink::pieces_of(std::uint64_t serial) {
  if (message_ && message_->serial == serial) return &message_->pieces;
  const auto found =
      std::ranges::find(parked_, serial, [](const Parked& one) { return one.request.serial; });
  return found != parked_.end() ? &found->pieces : nullptr;
}

void InboundLink::on_piece(std::uint64_t serial, std::uint32_t bytes, bool is_void) {
  LanePieces* pieces = pieces_of(serial);
  if (pieces == nullptr || pieces->under_way == 0) return;
  --under_way_;
  qp_.responder().note_returned();
  const bool is_placed = pieces->take(bytes, is_void);
  if (is_void) leave_lane_behind(serial);
  const bool is_ahead = !message_ || message_->serial != serial;
  if (is_ahead) return clear_ahead();
  if (is_placed) {
    on_placed({.message = this,
               .serial = serial,
               .offset = message_->done,
               .bytes = bytes,
               .ends_message = message_->done + bytes == message_->length},
              Arrival::kIntact);
  }
  if (message_ && message_->serial == serial) clear_pieces();
}

// The rest of this message comes in the stream, after what was lent for those behind it: they come
// there too, from their first byte on, or this one would overwrite them.
void InboundLink::leave_lane_behind(std::uint64_t serial) {
  for (Parked& parked : parked_) {
    if (parked.request.serial <= serial) continue;
    parked.pieces.has_void = parked.pieces.leaves_lane = true;
    parked.pieces.placed = 0;
  }
}

void InboundLink::lose(LanePieces& pieces) {
  for (; pieces.under_way > 0; --pieces.under_way) {
    --under_way_;
    qp_.responder().note_returned();
    pieces.leaves_lane = true;
  }
}

void InboundLink::on_lane_closed() {
  if (under_way_ == 0) return;
  for (Parked& parked : parked_) lose(parked.pieces);
  if (!message_) return;
  lose(message_->pieces);
  if (message_->placement) join_lines();
}

// ---- READs ----

bool InboundLink::on_clear_answer(const wire::ClearAnswer& frame) {
  Lanes* lanes = channel_->lanes();
  if (lanes == nullptr) return false;
  const std::uint64_t serial = frame.serial.get();
  if (frame.lane.get() == 0) return send_rest(serial, frame.offset.get());
  const bool is_wanted = !reads_.empty() && reads_.front().by_lane &&
                         reads_.front().request.serial == serial && !reads_.front().is_void;
  const Lanes::Sent sent =
      is_wanted ? send_piece(frame)
                : lanes->send_void({.lane = frame.lane.get(), .number = frame.number.get()});
  return sent != Lanes::Sent::kInvalid;
}

// Of the answer to a READ, in the stream; behind another one that is being sent. A READ that was
// given up is not known any more, so the requester begins anew with it.
bool InboundLink::send_rest(std::uint64_t serial, std::uint64_t offset) {
  const bool is_first =
      !reads_.empty() && reads_.front().by_lane && reads_.front().request.serial == serial;
  const bool is_unsure = !is_first && unsure_ && unsure_->request.serial == serial;
  if (!is_first && !is_unsure) {
    ask_again_from(serial);
    return true;
  }
  Read read = is_first ? reads_.front() : *unsure_;
  if (offset > read.sent || offset == read.request.length) return false;
  read.by_lane = false;
  read.sent = offset;
  if (is_first) {
    reads_.front() = read;
  } else {
    unsure_.reset();
    const bool is_busy = !reads_.empty() && (reads_.front().sent > 0 || reads_.front().is_told);
    reads_.insert(reads_.begin() + (is_busy ? 1 : 0), read);
  }
  join_lines();
  return true;
}

// If an earlier one is refused, the requester begins with that.
void InboundLink::ask_again_from(std::uint64_t serial) {
  if (refusal_due_ && refusal_due_->serial <= serial) return;
  refusal_due_ = Refusal{.serial = serial, .outcome = verbs::kNoAnswer};
  join_lines();
}

Lanes::Sent InboundLink::send_piece(const wire::ClearAnswer& frame) {
  Lanes& lanes = *channel_->lanes();
  Read& read = reads_.front();
  const Lanes::Cleared cleared{.lane = frame.lane.get(), .number = frame.number.get()};
  const std::uint64_t bytes = frame.bytes.get();
  if (frame.offset.get() != read.sent || bytes == 0 || bytes > wire::kLanePieceBytes ||
      bytes > read.request.length - read.sent) {
    return Lanes::Sent::kInvalid;
  }
  std::vector<std::uint32_t> keys;
  ExtentList& extents = channel_->scratch();
  extents.clear();
  const verbs::Outcome found = noting_keys(qp_.adapter().regions(), keys, [&] {
    return qp_.responder().read_extents(read.request, read.sent, bytes, extents);
  });
  if (!is_done(found)) {
    const Lanes::Sent sent = lanes.send_void(cleared);
    refusal_due_ = Refusal{.serial = read.request.serial, .outcome = found};
    reads_.pop_front();
    join_lines();
    return sent;
  }
  const std::uint64_t serial = read.request.serial;
  read.sent += bytes;
  const bool is_last = read.sent == read.request.length;
  const Lanes::Sent sent =
      lanes.send(cleared, {.qp = qp_, .extents = extents, .keys = std::move(keys)},
                 is_last ? this : nullptr, serial);
  // on_last_piece() may have taken it away.
  if (sent == Lanes::Sent::kVoid && !reads_.empty() && reads_.front().request.serial == serial) {
    reads_.front().is_void = true;
  }
  return sent;
}

void InboundLink::on_last_piece(std::uint64_t serial, bool is_there) {
  if (reads_.empty() || !reads_.front().by_lane || reads_.front().request.serial != serial) return;
  unsure_.reset();
  if (!is_there) unsure_ = reads_.front();
  reads_.pop_front();
  join_lines();
}

// The requester begins anew with this one.
void InboundLink::drop_reads_by_lane(std::uint64_t from) {
  if (unsure_ && unsure_->request.serial >= from) unsure_.reset();
  if (reads_.empty()) return;
  std::erase_if(reads_,
                [from](const Read& read) { return read.by_lane && read.request.serial >= from; });
}

// The adapter lets go of the messages' memory.
void InboundLink::recall_pieces() {
  if (under_way_ == 0) return;
  qp_.adapter().memory().loans().recall_queue_pair(qp_.number());
}

}  // namespace paravane::transport_channel
