// What a client sends: headers of requests, and the payload of writes.

#include <algorithm>
#include <cstring>
#include <utility>

#include "guestmem/payload.h"
#include "nbd/transmission.h"

namespace paravane::nbd {
namespace {

constexpr std::size_t kSkipBytes = std::size_t{16} * 1024;

bool carries_payload(Command command) {
  return command == Command::kRead || command == Command::kWrite;
}

}  // namespace

void Transmission::receive(Instant now, TurnBudget& budget) {
  const std::int64_t before = budget.bytes;
  bool goes_on = true;
  while (goes_on && phase_ == Phase::kServing && !budget.is_spent()) {
    if (incoming_) {
      goes_on = incoming_->buffer ? receive_payload(budget) : skip_payload(budget);
    } else if (has_header()) {
      goes_on = take_header();
      budget.spend(0);
    } else {
      goes_on = !table_.is_full() && receive_headers(budget);
    }
  }
  if (phase_ == Phase::kServing && budget.bytes != before) heard_ = now;
}

// Whether the call has brought something. A client that is done sending is answered to the end.
bool Transmission::can_go_on(const IoResult& result) {
  switch (result.kind) {
    case IoResult::Kind::kMoved: return true;
    case IoResult::Kind::kWouldBlock: return false;
    case IoResult::Kind::kClosed: end({}); return false;
    case IoResult::Kind::kBroken: phase_ = Phase::kOver; return false;
    case IoResult::Kind::kBadMemory: return false;
  }
  return false;
}

// After a write, the next is likely: only its header is read, so that its payload can be read to
// where it belongs.
bool Transmission::receive_headers(TurnBudget& budget) {
  if (!socket_.may_read()) return false;
  std::memmove(in_.data(), in_.data() + in_begin_, in_bytes());
  in_end_ -= std::exchange(in_begin_, 0);
  const std::size_t room = (expects_payload_ ? sizeof(RequestHeader) : in_.size()) - in_end_;
  const IoResult result = socket_.read_bytes(std::span(in_).subspan(in_end_, room));
  budget.spend(result.bytes);
  in_end_ += result.bytes;
  return can_go_on(result);
}

bool Transmission::take_header() {
  if (table_.is_full() || waits_for_room_) return false;
  RequestHeader header;
  std::memcpy(&header, in_.data() + in_begin_, sizeof header);
  if (header.magic.get() != kRequestMagic) {
    break_off("a request has a wrong magic number");
    return false;
  }
  const Request request = request_of(header);
  if (request.command == Command::kDisconnect) {
    end({});
    return false;
  }
  if (!start(request)) return false;
  in_begin_ += sizeof header;
  expects_payload_ = request.command == Command::kWrite;
  if (incoming_) take_early_payload();
  return true;
}

// False: it waits for memory.
bool Transmission::start(const Request& request) {
  const Verdict verdict = judge(request, geometry_, agreement_);
  if (verdict.error != ReplyError::kNone) {
    refuse(request, verdict);
    return true;
  }
  std::unique_ptr<BlockBuffer> buffer;
  if (carries_payload(request.command)) {
    waits_for_room_ = true;  // on_room() may come at any time from now on
    buffer = served_.device.take_buffer(request.length);
    if (!buffer) return false;
    waits_for_room_ = false;
  }
  count(request.command);
  const Place place = table_.take(request);
  served_.counters.most_requests.raise_to(table_.used());
  if (request.command == Command::kWrite) {
    incoming_ =
        Incoming{.place = place, .moved = 0, .length = request.length, .buffer = std::move(buffer)};
    return true;
  }
  served_.device.submit(place, {.operation = operation_of(request.command),
                                .offset = request.offset,
                                .length = request.length,
                                .force_unit_access = (request.flags & kFlagFua) != 0,
                                .may_not_unmap = (request.flags & kFlagNoHole) != 0,
                                .buffer = std::move(buffer)});
  return true;
}

void Transmission::count(Command command) {
  switch (command) {
    case Command::kRead: return served_.counters.reads.add();
    case Command::kWrite: return served_.counters.writes.add();
    case Command::kFlush: return served_.counters.flushes.add();
    case Command::kTrim: return served_.counters.trims.add();
    case Command::kWriteZeroes: return served_.counters.zeroes.add();
    case Command::kDisconnect:
    case Command::kCache:
    case Command::kBlockStatus: return;
  }
}

void Transmission::refuse(const Request& request, const Verdict& verdict) {
  served_.counters.refused_requests.add();
  served_.request_log.info(
      now_, "nbd {}: a request was refused: {} (command {}, offset {}, length {})",
      served_.offer.name, verdict.message, static_cast<std::uint16_t>(request.command),
      request.offset, request.length);
  const Place place = table_.take(request);
  table_.at(place).error = verdict.error;
  table_.at(place).message = verdict.message;
  const bool has_payload = request.command == Command::kWrite && request.length > 0;
  if (has_payload && request.length > kMostSkipped) {
    table_.leave(place);
    return break_off("a write has more payload than the server takes");
  }
  if (has_payload)
    incoming_ = Incoming{.place = place, .moved = 0, .length = request.length, .buffer = nullptr};
  else
    table_.finish(place);
  if (!verdict.is_odd) return;
  served_.counters.odd_requests.add();
  if (++odd_ < kMostOdd) return;
  // What was refused is answered; payload of it stays unread.
  if (incoming_) table_.finish(std::exchange(incoming_, std::nullopt)->place);
  end("it sends requests that a correct client never sends");
}

// What was read behind the header, before it was known to be payload.
void Transmission::take_early_payload() {
  const auto bytes =
      static_cast<std::uint32_t>(std::min<std::size_t>(in_bytes(), incoming_->length));
  if (bytes > 0 && incoming_->buffer) {
    piece_.clear();
    const bool is_there = incoming_->buffer->extents(0, bytes, piece_) &&
                          scatter_payload(std::span(in_).subspan(in_begin_, bytes), piece_);
    if (!is_there) lose_payload();
  }
  in_begin_ += bytes;
  incoming_->moved = bytes;
  if (incoming_->buffer) served_.counters.written_bytes.add(bytes);
  if (bytes == incoming_->length) on_payload();
}

bool Transmission::receive_payload(TurnBudget& budget) {
  if (!socket_.may_read()) return false;
  const std::uint32_t left = incoming_->length - incoming_->moved;
  piece_.clear();
  if (!incoming_->buffer->extents(incoming_->moved, std::min(left, kMostPiece), piece_)) {
    lose_payload();
    return true;
  }
  // All that was read has been used up, so the next header goes to the beginning.
  in_begin_ = in_end_ = 0;
  const std::span<std::byte> next = std::span(in_).first(sizeof(RequestHeader));
  const std::span<const std::span<std::byte>> after(&next, left <= kMostPiece ? 1 : 0);
  const IoResult result = read_payload(socket_, piece_, piece_.total_bytes(), after);
  budget.spend(result.bytes);
  if (result.kind == IoResult::Kind::kBadMemory) {
    lose_payload();
    return true;
  }
  if (!can_go_on(result)) return false;
  const auto moved = static_cast<std::uint32_t>(std::min<std::size_t>(result.bytes, left));
  incoming_->moved += moved;
  in_end_ = result.bytes - moved;
  served_.counters.written_bytes.add(moved);
  if (incoming_->moved == incoming_->length) on_payload();
  return true;
}

bool Transmission::skip_payload(TurnBudget& budget) {
  if (!socket_.may_read()) return false;
  std::array<std::byte, kSkipBytes> dropped;
  const std::size_t left = incoming_->length - incoming_->moved;
  const IoResult result =
      socket_.read_bytes(std::span(dropped).first(std::min(left, dropped.size())));
  budget.spend(result.bytes);
  if (!can_go_on(result)) return false;
  incoming_->moved += static_cast<std::uint32_t>(result.bytes);
  if (incoming_->moved == incoming_->length) on_payload();
  return true;
}

// The client is answered once its payload is out of the way.
void Transmission::lose_payload() {
  served_.counters.bad_memory.add();
  incoming_->buffer.reset();
  table_.at(incoming_->place).error = ReplyError::kIo;
  table_.at(incoming_->place).message = "the memory of the host failed";
}

void Transmission::on_payload() {
  const Place place = incoming_->place;
  std::unique_ptr<BlockBuffer> buffer = std::move(incoming_->buffer);
  incoming_.reset();
  if (!buffer) return table_.finish(place);
  const Request& request = table_.at(place).request;
  served_.device.submit(place, {.operation = BlockOperation::kWrite,
                                .offset = request.offset,
                                .length = request.length,
                                .force_unit_access = (request.flags & kFlagFua) != 0,
                                .buffer = std::move(buffer)});
}

}  // namespace paravane::nbd
