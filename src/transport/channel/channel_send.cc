// Channel: what is sent.

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "guestmem/payload.h"
#include "guestmem/payload_io.h"
#include "transport/channel/channel.h"
#include "transport/channel/inbound_link.h"
#include "transport/channel/outbound_datagram.h"
#include "transport/channel/outbound_link.h"

namespace paravane::transport_channel {
namespace {

constexpr std::size_t kZeroBytes = std::size_t{16} * 1024;
constexpr std::array<std::byte, kZeroBytes> kZeros{};

// Frames without payload that one record takes of each kind.
constexpr std::size_t kMostEach = 256;

// Of a block, before a piece of a long message that waits.
constexpr std::size_t kMostBeforePiece = std::size_t{6} * 1024;

}  // namespace

void Channel::send(verbs::Budget& budget) {
  while (!write_blocked_ && !broken() && !budget.spent()) {
    if (!out_.in_progress && !compose()) {
      is_idle_ = true;
      return;
    }
    if (!write_some(budget)) return;
  }
}

// False: there is nothing to be sent. Datagrams have records of their own, since they wait
// in blocks, or in guest memory; every other record is one of them.
bool Channel::compose() {
  datagrams_next_ = !datagrams_next_;
  if (!datagrams_next_ || !compose_datagrams()) {
    compose_own();
    if (is_open()) compose_links();
  }
  if (out_.block->empty() && !compose_datagrams()) return false;
  out_.direct_done = 0;
  out_.digest.reset();
  out_.is_void = false;
  out_.trailer_made = false;
  out_.trailer_done = 0;
  const std::span<std::byte> record = out_.block->finish(out_.direct ? out_.direct->bytes : 0);
  if (seal_) {
    wire::RecordHeader header;
    std::memcpy(&header, record.data(), sizeof header);
    header.tag =
        seal_->next(std::as_bytes(std::span(&header, 1)).first(sizeof header - sizeof header.tag),
                    record.subspan(sizeof header));
    std::memcpy(record.data(), &header, sizeof header);
  }
  out_.block_left = record;
  out_.in_progress = true;
  if (std::exchange(is_idle_, false)) {
    written_.begin(now_);
    pace_.begin(now_);
  }
  counters_.records_sent.add();
  return true;
}

// Of no link; and the ends of links.
void Channel::compose_own() {
  wire::BlockWriter& block = *out_.block;
  if (std::exchange(hello_due_, false)) {
    block.add(wire::Hello{
        .magic = Le64(wire::kHelloMagic),
        .lowest_version = Le16(wire::kProtocolVersion),
        .highest_version = Le16(wire::kProtocolVersion),
        .capabilities = Le32((config_.long_lives ? wire::kLongLives : 0) |
                             (config_.arranges_trunks ? wire::kTrunks : 0) |
                             (lanes_ ? wire::kLaneFrames : 0) | (config_.holds ? wire::kHolds : 0)),
        .incarnation = Le64(config_.incarnation)});
  }
  if (std::exchange(ping_due_, false)) {
    block.add(wire::Ping{.number = Le64(++signs_.pings_sent)});
  }
  if (const auto number = std::exchange(pong_due_, std::nullopt)) {
    block.add(wire::Pong{.number = Le64(*number)});
  }
  if (const auto hold = std::exchange(hold_due_, std::nullopt)) block.add(*hold);
  if (const auto held = std::exchange(held_due_, std::nullopt)) block.add(*held);
  if (const auto offer = std::exchange(trunk_offer_due_, std::nullopt)) block.add(*offer);
  if (const auto ready = std::exchange(trunk_ready_due_, std::nullopt)) block.add(*ready);
  if (lanes_ && lanes_->has_frames()) lanes_->compose(block);
  for (std::size_t i = 0; i < kMostEach && !closed_due_.empty(); ++i) {
    block.add(wire::Closed{.link = Le32(*closed_due_.begin())});
    closed_due_.erase(closed_due_.begin());
  }
  for (std::size_t i = 0; i < kMostEach && !close_due_.empty(); ++i) {
    block.add(wire::Close{.link = Le32(*close_due_.begin())});
    close_due_.erase(close_due_.begin());
  }
}

bool Channel::compose_datagrams() {
  if (!is_open() || hello_due_) return false;
  for (std::size_t i = 0; i < kMostEach; ++i) {
    OutboundDatagram* datagram = long_datagrams_.first();
    if (datagram == nullptr || datagram->after_blocks() > blocks_sent_) break;
    long_datagrams_.leave(datagram->sending);
    if (!datagram->compose(*out_.block, out_.direct)) continue;
    counters_.datagrams_sent.add();
    counters_.sent_bytes.add(out_.direct->bytes);
    return true;
  }
  if (datagrams_.empty()) return false;
  out_.block = std::move(datagrams_.front());
  datagrams_.pop_front();
  ++blocks_sent_;
  return true;
}

// What fits into its frame first; then a piece of a long message, which ends the block, so
// each block has room for one. Answers and requests take turns at being first.
void Channel::compose_links() {
  requests_first_ = !requests_first_;
  const bool long_waits = !long_requests_.empty() || !long_answers_.empty();
  const std::size_t most = std::min<std::size_t>(
      long_waits ? kMostBeforePiece : wire::kMaxBlockBytes, pace_.piece_bytes());
  if (requests_first_) compose_requests(most);
  compose_answers(most);
  if (!requests_first_) compose_requests(most);
  if (requests_first_) compose_long_request();
  if (!out_.direct) compose_long_answer();
  if (!out_.direct) compose_long_request();
}

void Channel::compose_answers(std::size_t most) {
  while (!out_.direct && out_.block->used() < most) {
    InboundLink* link = answers_.call();
    if (link == nullptr) return;
    const std::size_t used = out_.block->used();
    link->compose(*out_.block);
    if (link->answering.taken() && out_.block->used() == used) return;  // the block is full
  }
}

void Channel::compose_requests(std::size_t most) {
  while (!out_.direct && out_.block->used() < most) {
    OutboundLink* link = requests_.call();
    if (link == nullptr) return;
    // What it has to send may be something else by now.
    if (link->next_is_long()) {
      link->join_line();
      continue;
    }
    const std::size_t used = out_.block->used();
    const bool more = link->compose(*out_.block, out_.direct);
    if (more) link->join_line();
    if (more && out_.block->used() == used) return;  // the block is full
  }
}

void Channel::compose_long_answer() {
  while (!out_.direct) {
    InboundLink* link = long_answers_.call();
    if (link == nullptr) return;
    link->compose_long(*out_.block, out_.direct);
  }
}

void Channel::compose_long_request() {
  while (!out_.direct) {
    OutboundLink* link = long_requests_.call();
    if (link == nullptr) return;
    const std::size_t used = out_.block->used();
    const bool more = link->compose(*out_.block, out_.direct);
    if (more) link->join_line();
    if (more && out_.block->used() == used) return;  // the block is full
  }
}

// One write. False: no more can be written.
bool Channel::write_some(verbs::Budget& budget) {
  const bool in_block = !out_.block_left.empty();
  const IoResult result = in_block && !out_.direct ? write_block()
                          : seals_payload()        ? write_sealed()
                                                   : write_direct();
  if (stream_->holds_bytes()) readable_ = true;
  switch (result.kind) {
    case IoResult::Kind::kMoved: break;
    case IoResult::Kind::kWouldBlock:
      write_blocked_ = was_full_ = true;
      pace_.on_blocked();
      return false;
    case IoResult::Kind::kBadMemory: make_void(); return true;
    case IoResult::Kind::kClosed:
    case IoResult::Kind::kBroken: break_off(stream_->problem()); return false;
  }
  if (std::exchange(was_full_, false)) last_drained_ = now_;
  written_.on_moved(result.bytes, now_);
  pace_.on_moved(result.bytes, now_);
  budget.bytes -= static_cast<std::int64_t>(result.bytes);
  std::size_t moved = result.bytes;
  const std::size_t of_block = std::min(moved, out_.block_left.size());
  out_.block_left = out_.block_left.subspan(of_block);
  moved -= of_block;
  const std::uint64_t of_direct = std::min<std::uint64_t>(moved, out_.direct_left());
  out_.direct_done += of_direct;
  if (seals_payload()) out_.staged_left = out_.staged_left.subspan(of_direct);
  moved -= of_direct;
  out_.trailer_done += moved;
  if (out_.block_left.empty() && out_.direct_left() == 0 && !out_.trailer_left()) {
    budget.operations -= 1;
    end_record();
  }
  return true;
}

IoResult Channel::write_block() {
  scratch_.clear();
  return write_payload(*stream_, out_.block_left, scratch_);
}

// Where [from, to) of the payload lies at this moment, into scratch_. False: it is gone.
bool Channel::gather(std::uint64_t from, std::uint64_t to) {
  Direct direct = *out_.direct;
  direct.bytes = to;
  scratch_.clear();
  if (direct.request != nullptr) return direct.request->gather(direct, from, scratch_);
  if (direct.answer != nullptr) return direct.answer->gather(direct, from, scratch_);
  if (direct.datagram != nullptr) return direct.datagram->gather(direct, from, scratch_);
  return false;
}

void Channel::make_void() {
  if (std::exchange(out_.is_void, true)) return;
  counters_.voided.add();
  // The request that detected it in gather() has dropped it.
  const Direct direct = *out_.direct;
  if (direct.request != nullptr) direct.request->on_memory_lost(direct);
  if (direct.answer != nullptr) direct.answer->on_memory_lost(direct);
}

// What is left of the block, of the payload as it is now, and of the trailer.
IoResult Channel::write_direct() {
  scratch_.clear();
  if (out_.direct_left() == 0) return write_payload(*stream_, trailer(), scratch_);
  if (!out_.is_void) {
    if (gather(out_.direct_done, out_.direct->bytes)) {
      if (seal_ && !out_.digest) out_.digest = digest_payload(scratch_, out_.direct->bytes, 0);
      return write_payload(*stream_, out_.block_left, scratch_, trailer());
    }
    make_void();
  }
  if (!out_.block_left.empty()) return write_block();
  scratch_.clear();
  const std::size_t part = std::min<std::uint64_t>(out_.direct_left(), kZeroBytes);
  return write_payload(*stream_, std::span(kZeros).first(part), scratch_);
}

// What is left of it. It has one number, however often it is tried, and says "void" if
// that is found out before its payload is out.
std::span<const std::byte> Channel::trailer() {
  const std::uint32_t verdict = out_.is_void ? wire::kVoid : wire::kGood;
  if (!out_.trailer_made || out_.trailer.verdict.get() != verdict) {
    wire::RecordTrailer made{};
    made.verdict.set(verdict);
    made.digest.set(out_.is_void ? 0 : out_.digest.value_or(0));
    const auto sealed = wire::sealed_part(made);
    if (seal_) made.tag = out_.trailer_made ? seal_->again(sealed, {}) : seal_->next(sealed, {});
    out_.trailer = made;
    out_.trailer_made = true;
  }
  return std::as_bytes(std::span(&out_.trailer, 1)).subspan(out_.trailer_done);
}

// The same from a copy, because the guest may change its memory between seal and socket.
IoResult Channel::write_sealed() {
  if (out_.staged_left.empty() && out_.direct_left() > 0) stage();
  const bool is_last = out_.staged_left.size() == out_.direct_left();
  const auto trailer = std::as_bytes(std::span(&out_.trailer, 1)).subspan(out_.trailer_done);
  std::array<iovec, 3> pieces;
  std::size_t count = 0;
  for (const std::span<const std::byte> part :
       {out_.block_left, out_.staged_left, is_last ? trailer : std::span<const std::byte>()}) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): iovec knows no const
    auto* at = const_cast<std::byte*>(part.data());
    if (!part.empty()) pieces.at(count++) = {.iov_base = at, .iov_len = part.size()};
  }
  return stream_->write(std::span(pieces).first(count));
}

// The next stretch of payload. The last one brings the trailer: one seal is on all of it.
void Channel::stage() {
  const std::uint64_t from = out_.direct_done;
  const std::size_t part = std::min<std::uint64_t>(out_.direct_left(), out_.staged.size());
  const std::span<std::byte> to = std::span(out_.staged).first(part);
  if (from == 0) seal_->begin();
  if (!out_.is_void && (!gather(from, from + part) || !gather_payload(scratch_, to))) make_void();
  if (out_.is_void) std::ranges::fill(to, std::byte{0});
  counters_.staged_bytes.add(part);
  seal_->add(to);
  out_.staged_left = to;
  if (part < out_.direct_left()) return;
  out_.trailer = {.verdict = Le32(out_.is_void ? wire::kVoid : wire::kGood)};
  seal_->add(wire::sealed_part(out_.trailer));
  out_.trailer.tag = seal_->end();
}

void Channel::end_record() {
  const std::optional<Direct> sent = std::exchange(out_.direct, std::nullopt);
  out_.block->clear();
  out_.in_progress = false;
  if (sent && sent->answer != nullptr) sent->answer->on_sent(*sent);
  if (sent && sent->datagram != nullptr) sent->datagram->on_sent(*sent);
}

}  // namespace paravane::transport_channel
