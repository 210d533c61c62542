// Channel: what is sent.

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "guestmem/payload_io.h"
#include "transport/tcp/channel.h"
#include "transport/tcp/inbound_link.h"
#include "transport/tcp/outbound_datagram.h"
#include "transport/tcp/outbound_link.h"

namespace paravane::transport_tcp {
namespace {

constexpr std::size_t kZeroBytes = std::size_t{16} * 1024;
constexpr std::array<std::byte, kZeroBytes> kZeros{};

// Frames without payload that one record takes of each kind.
constexpr std::size_t kMostEach = 256;

}  // namespace

void Channel::send(verbs::Budget& budget) {
  while (!write_blocked_ && !broken() && !budget.spent()) {
    if (!out_.in_progress && !compose()) return;
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
  last_written_ = now_;
  counters_.records_sent.add();
  return true;
}

// Of no link; and the ends of links.
void Channel::compose_own() {
  wire::BlockWriter& block = *out_.block;
  if (std::exchange(hello_due_, false)) {
    block.add(wire::Hello{.magic = Le64(wire::kHelloMagic),
                          .lowest_version = Le16(wire::kProtocolVersion),
                          .highest_version = Le16(wire::kProtocolVersion),
                          .incarnation = Le64(config_.incarnation)});
  }
  if (std::exchange(ping_due_, false)) block.add(wire::Ping{});
  if (const auto number = std::exchange(pong_due_, std::nullopt)) {
    block.add(wire::Pong{.number = Le64(*number)});
  }
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

// Answers and requests take turns at being first, because who is first may have direct
// payload, and that ends the block.
void Channel::compose_links() {
  requests_first_ = !requests_first_;
  const auto compose_line = [this](auto& line, auto place) {
    while (!out_.direct) {
      auto* link = line.call();
      if (link == nullptr) return;
      const std::size_t room = out_.block->room();
      const bool more = link->compose(*out_.block, out_.direct);
      if (more && !(link->*place).taken()) line.join(*link, link->*place);
      if (more && out_.block->room() == room) return;  // the block is full
    }
  };
  if (requests_first_) compose_line(to_send_, &OutboundLink::sending);
  compose_line(to_answer_, &InboundLink::answering);
  if (!requests_first_) compose_line(to_send_, &OutboundLink::sending);
}

// One write. False: no more can be written.
bool Channel::write_some(verbs::Budget& budget) {
  const bool in_block = !out_.block_left.empty();
  const IoResult result = in_block && !out_.direct ? write_block() : write_direct();
  switch (result.kind) {
    case IoResult::Kind::kMoved: break;
    case IoResult::Kind::kWouldBlock: write_blocked_ = true; return false;
    case IoResult::Kind::kBadMemory: out_.is_void = true; return true;
    case IoResult::Kind::kClosed:
    case IoResult::Kind::kBroken: break_off(stream_->problem()); return false;
  }
  last_written_ = now_;
  budget.bytes -= static_cast<std::int64_t>(result.bytes);
  std::size_t moved = result.bytes;
  const std::size_t of_block = std::min(moved, out_.block_left.size());
  out_.block_left = out_.block_left.subspan(of_block);
  moved -= of_block;
  const std::uint64_t of_direct = std::min<std::uint64_t>(moved, out_.direct_left());
  out_.direct_done += of_direct;
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

// What is left of the block, of the payload as it is now, and of the trailer.
IoResult Channel::write_direct() {
  scratch_.clear();
  if (out_.direct_left() == 0) return write_payload(*stream_, trailer(), scratch_);
  if (!out_.is_void) {
    const Direct& direct = *out_.direct;
    bool found = false;
    if (direct.request != nullptr) {
      found = direct.request->gather(direct, out_.direct_done, scratch_);
    } else if (direct.answer != nullptr) {
      found = direct.answer->gather(direct, out_.direct_done, scratch_);
    } else if (direct.datagram != nullptr) {
      found = direct.datagram->gather(direct, out_.direct_done, scratch_);
    }
    if (found) {
      if (seal_ && !out_.digest) out_.digest = digest_payload(scratch_, direct.bytes, 0);
      return write_payload(*stream_, out_.block_left, scratch_, trailer());
    }
    out_.is_void = true;
    counters_.voided.add();
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
    if (seal_) {
      const auto unsealed = std::as_bytes(std::span(&made, 1)).first(sizeof made - sizeof made.tag);
      made.tag = out_.trailer_made ? seal_->again(unsealed, {}) : seal_->next(unsealed, {});
    }
    out_.trailer = made;
    out_.trailer_made = true;
  }
  return std::as_bytes(std::span(&out_.trailer, 1)).subspan(out_.trailer_done);
}

void Channel::end_record() {
  const std::optional<Direct> sent = std::exchange(out_.direct, std::nullopt);
  out_.block->clear();
  out_.in_progress = false;
  if (sent && sent->answer != nullptr) sent->answer->on_sent(*sent);
  if (sent && sent->datagram != nullptr) sent->datagram->on_sent(*sent);
}

}  // namespace paravane::transport_tcp
