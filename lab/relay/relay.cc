#include "relay.h"

#include <algorithm>
#include <utility>

namespace paravane::lab {
namespace {

constexpr std::size_t kLongestFrame = 65536;
constexpr int kFramesAtOnce = 64;  // so that both directions and the clock get their turn

// What a line adds to each frame: preamble, checksum, gap.
constexpr std::uint64_t kLineOverhead = 24;

// `at`: 0 to 1, without 1.
void invert_bit(std::span<char> bytes, double at) {
  const auto bit = static_cast<std::size_t>(at * 8 * static_cast<double>(bytes.size()));
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
}

}  // namespace

Status Relay::set_link(bool up) {
  for (const TapEnd& end : ends_) {
    if (Status set = end.set_carrier(up); !set) return set;
  }
  up_ = up;
  if (up) return {};
  for (Way& way : ways_) {
    way.counts.while_down += way.waiting.size();
    way.waiting = {};
  }
  return {};
}

Status Relay::take(unsigned end, Instant now) {
  std::array<char, kLongestFrame> buffer;
  for (int i = 0; i < kFramesAtOnce; ++i) {
    const Result<std::size_t> size = ends_[end].read(buffer);
    if (!size) return std::unexpected(size.error());
    if (*size == 0) return {};
    pass(end, std::span(buffer).first(*size), now);
  }
  return {};
}

void Relay::pass(unsigned direction, std::span<char> bytes, Instant now) {
  Way& way = ways_[direction];
  WireCounts& counts = way.counts;
  ++counts.frames;
  counts.bytes += bytes.size();
  const Fate fate = fate_of(impairment_, seed_, direction, way.number++);
  if (!up_) {
    ++counts.while_down;
    return;
  }
  if (fate.lost) {
    ++counts.lost;
    return;
  }
  if (fate.damaged_at && bytes.size() > impairment_.damage_from) {
    ++counts.damaged;
    invert_bit(bytes.subspan(impairment_.damage_from), *fate.damaged_at);
  }
  if (fate.late != Duration::zero()) ++counts.reordered;
  send(direction, bytes, fate.late, now);
  if (!fate.twice) return;
  ++counts.duplicated;
  send(direction, bytes, fate.late, now);
}

void Relay::send(unsigned direction, std::span<const char> bytes, Duration late, Instant now) {
  Way& way = ways_[direction];
  Instant due = now;
  if (impairment_.rate != 0) {
    const std::uint64_t bits = (bytes.size() + kLineOverhead) * 8;
    way.free = std::max(way.free, now) +
               Duration(static_cast<std::int64_t>(bits * 1'000'000'000u / impairment_.rate));
    due = way.free;
  }
  due += impairment_.delay + late;
  if (due <= now && way.waiting.empty()) return hand_over(direction, bytes);
  if (way.waiting.size() >= impairment_.queue) {
    ++way.counts.queue_full;
    return;
  }
  way.waiting.push(
      {.due = due, .order = way.order++, .bytes = std::vector<char>(bytes.begin(), bytes.end())});
}

void Relay::deliver(Instant now) {
  for (unsigned direction = 0; direction < 2; ++direction) {
    auto& waiting = ways_[direction].waiting;
    while (!waiting.empty() && waiting.top().due <= now) {
      hand_over(direction, waiting.top().bytes);
      waiting.pop();
    }
  }
}

std::optional<Instant> Relay::next_due() const {
  std::optional<Instant> due;
  for (const Way& way : ways_) {
    if (way.waiting.empty()) continue;
    due = due ? std::min(*due, way.waiting.top().due) : way.waiting.top().due;
  }
  return due;
}

void Relay::hand_over(unsigned direction, std::span<const char> bytes) {
  WireCounts& counts = ways_[direction].counts;
  ++(ends_[1 - direction].write(bytes) ? counts.delivered : counts.refused);
}

}  // namespace paravane::lab
