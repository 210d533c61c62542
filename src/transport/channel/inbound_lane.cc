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
  return true;
}

void InboundLink::act_on_parked() {
  while (!parked_.empty() && !waits_for_lane() && link_ != 0) {
    const Parked parked = parked_.front();
    parked_.pop_front();
    std::optional<Sink> sink;
    if (!act(parked.request, parked.by_lane, {}, 0, sink)) {
      return channel_->break_off("protocol: too many requests wait for their answers");
    }
  }
}

// As many as the lane has room for. A message that was refused, or that was done before, has no
// placement, and its bytes do not come.
void InboundLink::clear_pieces() {
  Lanes& lanes = *channel_->lanes();
  while (message_ && message_->placement && message_->by_lane && !message_->leaves_lane &&
         message_->cleared < message_->length && lanes.room_for(qp_, message_->pieces) > 0) {
    clear_piece(lanes);
  }
  if (!message_ || !message_->by_lane) return;
  if (!message_->placement) {
    message_.reset();
    return act_on_parked();
  }
  if (message_->pieces == 0 && message_->cleared < message_->length) message_->leaves_lane = true;
  join_lines();
}

void InboundLink::clear_piece(Lanes& lanes) {
  const std::uint64_t bytes = std::min(message_->length - message_->cleared, wire::kLanePieceBytes);
  verbs::MemoryRegionTable& regions = qp_.adapter().regions();
  std::vector<std::uint32_t> keys;
  ExtentList& found = channel_->scratch();
  found.clear();
  regions.note_keys(&keys);
  const verbs::Outcome placed = message_->placement->extents(message_->cleared, bytes, found);
  regions.note_keys(nullptr);
  if (!is_done(placed)) return refuse(placed);
  const ExtentList piece = lanes.what_fits(found);
  const std::uint64_t serial = message_->serial;
  const auto cleared =
      lanes.receive(*this, serial, {.qp = qp_, .extents = piece, .keys = std::move(keys)});
  if (!cleared) {
    message_->leaves_lane = true;
    return;
  }
  wire::Clear frame{};
  frame.link.set(link_);
  frame.serial.set(serial);
  frame.offset.set(message_->cleared);
  frame.bytes.set(static_cast<std::uint32_t>(piece.total_bytes()));
  frame.lane.set(static_cast<std::uint8_t>(cleared->lane));
  frame.number.set(cleared->number);
  clears_.push_back(frame);
  message_->cleared += piece.total_bytes();
  ++message_->pieces;
}

// What is left comes in the stream.
void InboundLink::clear_stream() {
  message_->by_lane = false;
  wire::Clear frame{};
  frame.link.set(link_);
  frame.serial.set(message_->serial);
  frame.offset.set(message_->done);
  clears_.push_back(frame);
}

void InboundLink::on_piece(std::uint64_t serial, std::uint32_t bytes, bool is_void) {
  if (!message_ || message_->serial != serial || message_->pieces == 0) return;
  --message_->pieces;
  if (is_void) message_->has_void = message_->leaves_lane = true;
  if (!message_->has_void) {
    on_placed({.message = this,
               .serial = serial,
               .offset = message_->done,
               .bytes = bytes,
               .ends_message = message_->done + bytes == message_->length},
              Arrival::kIntact);
  }
  if (message_ && message_->serial == serial) clear_pieces();
}

void InboundLink::on_lane_closed() {
  if (!message_ || message_->pieces == 0) return;
  message_->pieces = 0;
  message_->leaves_lane = true;
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
  verbs::MemoryRegionTable& regions = qp_.adapter().regions();
  std::vector<std::uint32_t> keys;
  ExtentList& extents = channel_->scratch();
  extents.clear();
  regions.note_keys(&keys);
  const verbs::Outcome found =
      qp_.responder().read_extents(read.request, read.sent, bytes, extents);
  regions.note_keys(nullptr);
  if (!is_done(found)) {
    const Lanes::Sent sent = lanes.send_void(cleared);
    refusal_due_ = Refusal{.serial = read.request.serial, .outcome = found};
    reads_.pop_front();
    join_lines();
    return sent;
  }
  const bool is_last = read.sent + bytes == read.request.length;
  const Lanes::Sent sent =
      lanes.send(cleared, {.qp = qp_, .extents = extents, .keys = std::move(keys)},
                 is_last ? this : nullptr, read.request.serial);
  read.sent += bytes;
  read.is_void = sent == Lanes::Sent::kVoid;
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

// The adapter lets go of the message's memory.
void InboundLink::recall_pieces() {
  if (!message_ || message_->pieces == 0) return;
  qp_.adapter().memory().loans().recall_queue_pair(qp_.number());
}

}  // namespace paravane::transport_channel
