#include "cable/line.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

namespace paravane::cable {
namespace {

// A stream that always has more does not hold up the turn.
constexpr int kReadsPerCall = 4;

void add_frame(std::vector<std::byte>& out, FrameKind kind, std::uint8_t cables,
               std::span<const std::byte> body) {
  FrameHeader header{.kind = static_cast<std::uint8_t>(kind), .cables = cables};
  header.length.set(static_cast<std::uint16_t>(body.size()));
  const auto bytes = std::as_bytes(std::span(&header, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
  out.insert(out.end(), body.begin(), body.end());
}

}  // namespace

Line::Line(std::unique_ptr<ByteStream> stream, std::uint16_t port, std::uint64_t guid,
           const TurnClock& clock)
    : stream_(std::move(stream)),
      clock_(clock),
      guid_(guid),
      heard_(clock.now),
      moved_(clock.now),
      next_beat_(clock.now + kBeatInterval) {
  Hello hello;
  hello.version.set(kCableVersion);
  hello.port.set(port);
  hello.guid.set(guid);
  // With what is ever appended in one go: nothing allocates after it.
  out_.reserve(kBatchBytes + sizeof(FrameHeader) + kMostFrameBytes);
  add_urgent(FrameKind::kHello, std::as_bytes(std::span(&hello, 1)));
}

void Line::fail(std::string problem) {
  if (problem_.empty()) problem_ = std::move(problem);
}

// ---- Receiving ----

std::size_t Line::receive(std::size_t most, Listener& listener) {
  std::size_t taken = 0;
  for (int reads = 0; taken < most && problem_.empty();) {
    if (const auto frame = reader_.next()) {
      ++taken;
      take(*frame, listener);
      continue;
    }
    if (!reader_.problem().empty()) {
      fail(reader_.problem());
    } else if (reads++ == kReadsPerCall || !read_more()) {
      break;
    }
  }
  return taken;
}

bool Line::read_more() {
  const ByteStream::Moved moved = stream_->read(reader_.room());
  if (moved.is_over) fail(stream_->problem());
  if (moved.bytes == 0) may_have_more_ = false;
  reader_.arrived(moved.bytes);
  return moved.bytes > 0;
}

void Line::take(const FrameReader::Frame& frame, Listener& listener) {
  heard_ = clock_.now;
  if (frame.kind == FrameKind::kHello) return take_hello(frame.body);
  if (peer_guid_ == 0) return fail("the host does not begin with a hello");
  switch (frame.kind) {
    case FrameKind::kHello: return;
    case FrameKind::kBeat: return take_beat();
    case FrameKind::kPacket:
      listener.on_packet(frame.body, static_cast<std::uint8_t>(std::min(frame.cables + 1, 0xFF)));
      return;
    case FrameKind::kLink: {
      const auto word = static_cast<LinkWord>(frame.body[0]);
      if (word > LinkWord::kUp)
        return fail(
            fmt::format("the host says {} of its port", std::to_integer<int>(frame.body[0])));
      return listener.on_link_word(word);
    }
  }
}

void Line::take_hello(std::span<const std::byte> body) {
  Hello hello;
  std::memcpy(&hello, body.data(), sizeof hello);
  if (peer_guid_ != 0) return fail("the host says hello twice");
  if (hello.version.get() != kCableVersion)
    return fail(fmt::format("the host speaks version {} of cables, and this host version {}",
                            hello.version.get(), kCableVersion));
  if (hello.guid.get() == 0 || hello.guid.get() == guid_)
    return fail(fmt::format("the host's switch has GUID 0x{:016x}", hello.guid.get()));
  peer_guid_ = hello.guid.get();
}

// An own beat that is due soon goes at once, so both ends are woken by one of them alone.
void Line::take_beat() {
  if (next_beat_ - clock_.now <= kBeatInterval / 2) beat();
}

// ---- Sending ----

void Line::add_urgent(FrameKind kind, std::span<const std::byte> body) {
  add_frame(urgent_, kind, 0, body);
}

void Line::say(LinkWord word) {
  if (words_ == kMostWords) return fail("the host does not take what is said to it of its port");
  ++words_;
  add_urgent(FrameKind::kLink, std::as_bytes(std::span(&word, 1)));
}

// Up to a batch, which is then sent as it is.
void Line::fill(SendQueue& queue) {
  out_.clear();
  sent_ = 0;
  out_.insert(out_.end(), urgent_.begin(), urgent_.end());
  urgent_.clear();
  words_ = 0;
  while (!queue.empty() && out_.size() < kBatchBytes) {
    const subnet::Packet& packet = queue.front();
    add_frame(out_, FrameKind::kPacket, packet.cables, packet);
    queue.pop();
  }
}

void Line::flush(SendQueue& queue) {
  while (problem_.empty()) {
    if (!is_held_up()) {
      moved_ = clock_.now;
      fill(queue);
      if (out_.empty()) return;
    }
    const ByteStream::Moved moved = stream_->write(std::span(out_).subspan(sent_));
    if (moved.is_over) return fail(stream_->problem());
    if (moved.bytes == 0) return;
    sent_ += moved.bytes;
    moved_ = clock_.now;
  }
}

// ---- Time ----

void Line::beat() {
  next_beat_ = clock_.now + kBeatInterval;
  // One that waits already is enough.
  if (!is_held_up()) add_urgent(FrameKind::kBeat, {});
}

void Line::on_time(Instant now) {
  if (now - heard_ >= kSilenceLimit) {
    fail(peer_guid_ == 0 ? "the host says no hello" : "the host is silent");
  } else if (is_held_up() && now - moved_ >= kSilenceLimit) {
    fail("the host does not take what is sent to it");
  }
  if (problem_.empty() && now >= next_beat_) beat();
}

Instant Line::next_deadline() const {
  if (!problem_.empty()) return kNever;
  return std::min(next_beat_, heard_ + kSilenceLimit);
}

}  // namespace paravane::cable
