#include "transport/hca/trunk_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/memory_shortage.h"

namespace paravane::transport_hca {
namespace {

// The peer is told when this many buffers were posted since it was last told.
constexpr std::uint32_t kTellAt = kTrunkBuffers / 4;

// The cost of a message, in addition to that of moving its bytes.
constexpr std::size_t kEffortOfMessage = 1024;

// The limit of empty messages in one call. A correct peer sends one for every kTellAt of ours.
constexpr std::uint32_t kMostEmpty = kTrunkBuffers;

// The limit of rounds in a read() that already has bytes, because messages may be short.
constexpr int kMostRounds = 4;

std::size_t bytes_of(std::span<const iovec> pieces) {
  std::size_t bytes = 0;
  for (const iovec& piece : pieces) bytes += piece.iov_len;
  return bytes;
}

}  // namespace

TrunkStream::TrunkStream(std::unique_ptr<TrunkPort> port, Retire retire)
    : port_(std::move(port)), retire_(std::move(retire)) {
  for (std::uint32_t buffer = 0; buffer < kTrunkBuffers; ++buffer) free_.push(buffer);
}

TrunkStream::TrunkStream(std::unique_ptr<TrunkPort> port, Retire retire,
                         std::shared_ptr<RegisteredMemory> memory, TrunkLanes::Connect connect)
    : TrunkStream(std::move(port), std::move(retire)) {
  lanes_.emplace(port_, std::move(memory), std::move(connect));
}

// Without memory for handing the port over, it is ended here.
TrunkStream::~TrunkStream() {
  if (!retire_) return;
  runs_in_memory([this] { retire_(std::move(port_), lanes_ ? lanes_->memory() : nullptr); });
}

void TrunkStream::break_off(std::string problem) {
  if (!broken()) problem_ = std::move(problem);
}

// True: something has completed. False: fd() becomes readable when something does.
bool TrunkStream::pump() {
  if (take_completions() || broken()) return !broken();
  if (armed_ && port_->take_event()) armed_ = false;
  if (armed_) return false;
  if (!port_->arm()) break_off(port_->problem());
  armed_ = true;
  return take_completions() && !broken();
}

bool TrunkStream::take_completions() {
  bool has_taken = false;
  for (std::uint32_t i = 0; i < 2 * kTrunkBuffers && !broken(); ++i) {
    const std::optional<TrunkCompletion> completion = port_->next();
    if (!completion) break;
    has_taken = true;
    take(*completion);
  }
  if (has_taken && !broken()) tell_count();
  return has_taken;
}

void TrunkStream::take(const TrunkCompletion& completion) {
  switch (completion.kind) {
    case TrunkCompletion::Kind::kSent: free_.push(completion.buffer); return;
    case TrunkCompletion::Kind::kFailed: return break_off(port_->problem());
    case TrunkCompletion::Kind::kLaneSent:
    case TrunkCompletion::Kind::kLaneReceived:
    case TrunkCompletion::Kind::kLaneFailed:
      if (lanes_) lanes_->note(completion);
      return;
    case TrunkCompletion::Kind::kReceived: break;
  }
  ++messages_;
  if (completion.bytes == 0 && ++empty_ > kMostEmpty) {
    return break_off("protocol: the host sends messages that are empty");
  }
  take_count(completion.immediate);
  bytes_.at(completion.buffer) = completion.bytes;
  arrived_.push(completion.buffer);
  if (completion.bytes == 0 && arrived_.count() == 1) let_go_of_first();
}

// The number of a peer never decreases, and no peer has more free buffers than all of them.
void TrunkStream::take_count(std::uint32_t posted) {
  if (posted - peer_posted_ > kTrunkBuffers || posted - sent_ > kTrunkBuffers) {
    return break_off("protocol: the host says that it has posted buffers that it cannot have");
  }
  peer_posted_ = posted;
}

// Lets go of the empty messages behind it, too.
void TrunkStream::let_go_of_first() {
  taken_ = 0;
  do {
    const std::uint32_t buffer = arrived_.first();
    arrived_.pop();
    if (!port_->post_receive(buffer)) return break_off(port_->problem());
    ++posted_;
  } while (arrived_.count() > 0 && bytes_.at(arrived_.first()) == 0);
}

// REQUIRES: free_ and credits() are not 0, and the first free buffer has the bytes.
bool TrunkStream::send(std::uint32_t bytes) {
  const std::uint32_t buffer = free_.first();
  free_.pop();
  ++sent_;
  told_ = posted_;
  if (port_->post_send(buffer, bytes, posted_)) return true;
  break_off(port_->problem());
  return false;
}

void TrunkStream::tell_count() {
  if (posted_ - told_ < kTellAt || free_.count() == 0 || credits() == 0) return;
  send(0);
}

// Copies received bytes to `to`, after its first `from` bytes. Returns the number of bytes.
std::size_t TrunkStream::copy_out(std::span<const iovec> to, std::size_t from) {
  std::size_t copied = 0;
  for (const iovec& piece : to) {
    if (from >= piece.iov_len) {
      from -= piece.iov_len;
      continue;
    }
    auto* at = static_cast<std::byte*>(piece.iov_base) + from;
    std::size_t room = piece.iov_len - std::exchange(from, 0);
    while (room > 0 && arrived_.count() > 0 && !broken()) {
      const std::uint32_t buffer = arrived_.first();
      const std::size_t part = std::min<std::size_t>(room, bytes_.at(buffer) - taken_);
      std::memcpy(at, port_->receive_buffer(buffer).data() + taken_, part);
      at += part;
      room -= part;
      copied += part;
      taken_ += static_cast<std::uint32_t>(part);
      if (taken_ == bytes_.at(buffer)) let_go_of_first();
    }
  }
  return copied;
}

IoResult TrunkStream::read(std::span<const iovec> to) {
  const std::size_t wanted = bytes_of(to);
  messages_ = empty_ = 0;
  IoResult result{.bytes = copy_out(to, 0)};
  for (int rounds = 0; result.bytes < wanted && !broken(); ++rounds) {
    if (result.bytes > 0 && rounds >= kMostRounds) break;
    if (!pump()) {
      result.was_all = true;
      break;
    }
    result.bytes += copy_out(to, result.bytes);
  }
  if (!broken()) tell_count();
  result.effort = kEffortOfMessage * messages_;
  if (result.bytes == 0) {
    result.kind = broken() ? IoResult::Kind::kBroken : IoResult::Kind::kWouldBlock;
  }
  return result;
}

// Copies the bytes after the first `skip` into the first free buffer. Returns their number.
std::size_t TrunkStream::gather(std::span<const iovec> from, std::size_t skip) {
  const auto to = port_->send_buffer(free_.first());
  std::size_t have = 0;
  for (const iovec& piece : from) {
    if (skip >= piece.iov_len) {
      skip -= piece.iov_len;
      continue;
    }
    const auto* at = static_cast<const std::byte*>(piece.iov_base) + skip;
    const std::size_t part = std::min(piece.iov_len - std::exchange(skip, 0), to.size() - have);
    std::memcpy(to.data() + have, at, part);
    have += part;
    if (have == to.size()) break;
  }
  return have;
}

IoResult TrunkStream::write(std::span<const iovec> from) {
  const std::size_t wanted = bytes_of(from);
  messages_ = empty_ = 0;
  std::size_t written = 0;
  while (written < wanted && !broken()) {
    if (free_.count() == 0 || credits() < 2) {
      if (written > 0 || !pump()) break;
      continue;
    }
    const std::size_t part = gather(from, written);
    if (send(static_cast<std::uint32_t>(part))) written += part;
  }
  if (written > 0) return {.bytes = written};
  if (broken()) return {.kind = IoResult::Kind::kBroken};
  return {.kind = IoResult::Kind::kWouldBlock};
}

}  // namespace paravane::transport_hca
