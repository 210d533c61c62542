// What a client is sent: replies, and the payload of reads.

#include <algorithm>

#include "nbd/transmission.h"

namespace paravane::nbd {

void Transmission::send(TurnBudget& budget) {
  while (phase_ != Phase::kOver && !budget.is_spent()) {
    if (is_deaf_) return drop_replies();
    if (!can_send()) return;
    piece_.clear();
    if (outgoing_ && !add_piece()) return break_off({});  // its header was sent
    fill();
    const IoResult result =
        write_payload(socket_, std::span(out_).subspan(out_begin_, out_bytes()), piece_);
    budget.spend(result.bytes);
    switch (result.kind) {
      case IoResult::Kind::kMoved: sent(result.bytes); break;
      case IoResult::Kind::kWouldBlock: return;
      // What it has sent before is still done.
      case IoResult::Kind::kClosed:
      case IoResult::Kind::kBroken:
        is_deaf_ = true;
        socket_.look();
        break;
      case IoResult::Kind::kBadMemory: served_.counters.bad_memory.add(); return break_off({});
    }
  }
}

// The extents of the next payload, for this call of the kernel. False: its memory failed.
bool Transmission::add_piece() {
  const std::uint32_t left = outgoing_->length - outgoing_->moved;
  const bool is_there = table_.at(outgoing_->place)
                            .buffer->extents(outgoing_->moved, std::min(left, kMostPiece), piece_);
  if (!is_there) served_.counters.bad_memory.add();
  return is_there;
}

// As many headers as have room, up to the first that payload follows.
void Transmission::fill() {
  if (out_bytes() == 0) out_begin_ = out_end_ = 0;
  while (!outgoing_ && table_.has_replies() && out_.size() - out_end_ >= kMostReplyHeader)
    answer(table_.next_reply());
}

void Transmission::answer(Place place) {
  const RequestTable::Entry& entry = table_.at(place);
  Reply reply{.handle = entry.request.handle, .error = entry.error, .message = entry.message};
  if (entry.buffer) {
    outgoing_ = Outgoing{.place = place, .moved = 0, .length = entry.request.length};
    if (add_piece()) {
      reply.offset = entry.request.offset;
      reply.payload_bytes = entry.request.length;
    } else {
      outgoing_.reset();
      reply.error = ReplyError::kIo;
      reply.message = "the memory of the host failed";
    }
  }
  out_end_ += write_reply(reply, agreement_.is_structured, std::span(out_).subspan(out_end_));
  if (!outgoing_) table_.leave(place);
}

void Transmission::sent(std::size_t bytes) {
  const std::size_t headers = std::min(bytes, out_bytes());
  out_begin_ += headers;
  if (phase_ == Phase::kEnding) heard_ = now_;
  if (headers > 0) replied_ = now_;
  if (!outgoing_) return;
  const auto moved = static_cast<std::uint32_t>(bytes - headers);
  outgoing_->moved += moved;
  served_.counters.read_bytes.add(moved);
  if (outgoing_->moved < outgoing_->length) return;
  table_.leave(outgoing_->place);
  outgoing_.reset();
  replied_ = now_;
}

void Transmission::drop_replies() {
  out_begin_ = out_end_ = 0;
  if (outgoing_) table_.leave(outgoing_->place);
  outgoing_.reset();
  while (table_.has_replies()) table_.leave(table_.next_reply());
}

}  // namespace paravane::nbd
