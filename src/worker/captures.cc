#include "worker/captures.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "text/pcapng.h"

namespace paravane::worker {
namespace {

constexpr Duration kReaderTime = std::chrono::seconds(model::kCaptureReaderSeconds);

// Of one answer, before it is written as text.
constexpr std::size_t kMostBlockBytes = std::size_t{512} * 1024;

std::uint64_t wall_clock_ns() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count());
}

}  // namespace

model::CaptureStatus Capture::status() const {
  model::CaptureStatus status{.id = id_, .spec = spec_, .interfaces = {}, .ended = has_ended()};
  for (std::uint32_t i = 0; i < adapters_.size(); ++i) {
    const sniff::InterfaceCounts counts = ring_.counts(i);
    status.interfaces.push_back(
        {.name = to_string(adapters_[i]), .packets = counts.seen, .dropped = counts.dropped});
  }
  return status;
}

model::CapturePackets Capture::take(Instant now) {
  last_read_.store(now, std::memory_order_relaxed);
  // Asked first: of one that has ended, what is there is all.
  const bool ended = has_ended();
  model::CapturePackets packets;
  std::vector<std::byte> bytes;
  bool is_empty = false;
  while (packets.blocks.size() < kMostBlockBytes && !is_empty) {
    const auto info = ring_.take(bytes);
    is_empty = !info;
    if (is_empty) continue;
    text::pcapng::append_packet({.interface = info->interface,
                                 .timestamp_ns = info->timestamp_ns,
                                 .original_bytes = info->original_bytes,
                                 .dropped_before = info->dropped_before,
                                 .is_outbound = info->direction == verbs::Direction::kOut},
                                bytes, packets.blocks);
  }
  packets.status = status();
  packets.status.ended = ended && is_empty;
  return packets;
}

Captures::~Captures() {
  for (Active& active : active_) stop(active);
}

void Captures::stop(Active& active) {
  for (const Watched& one : active.watched) one.adapter->set_observer(nullptr);
  active.watched.clear();
  active.capture->end();
}

void Captures::start(std::shared_ptr<Capture> capture, const std::vector<Place>& places) {
  Active active{.capture = std::move(capture), .watched = {}};
  for (const Place& place : places) {
    forget(*place.adapter);
    auto sniffer = std::make_unique<sniff::Sniffer>(
        sniff::SnifferConfig{.interface = place.interface,
                             .mac = place.mac,
                             .keep_bytes = active.capture->spec().snaplen,
                             .clock = wall_clock_ns},
        active.capture->ring());
    place.adapter->set_observer(sniffer.get());
    active.watched.push_back({.adapter = place.adapter, .sniffer = std::move(sniffer)});
  }
  if (active.watched.empty()) return active.capture->end();
  active_.push_back(std::move(active));
}

void Captures::end(std::uint64_t id) {
  std::erase_if(active_, [id](Active& active) {
    if (active.capture->id() != id) return false;
    stop(active);
    return true;
  });
}

void Captures::forget(verbs::Adapter& adapter) {
  adapter.set_observer(nullptr);
  std::erase_if(active_, [&adapter](Active& active) {
    std::erase_if(active.watched, [&](const Watched& one) { return one.adapter == &adapter; });
    if (!active.watched.empty()) return false;
    stop(active);
    return true;
  });
}

Instant Captures::next_end() const {
  Instant next = kNever;
  for (const Active& active : active_) {
    next = std::min(next, active.capture->last_read() + kReaderTime);
  }
  return next;
}

bool Captures::turn(Instant now, verbs::Budget& /*budget*/) {
  return std::erase_if(active_, [this, now](Active& active) {
           if (active.capture->last_read() + kReaderTime > now) return false;
           left_.warn(now, "{}: the capture ended, because no client reads it",
                      active.capture->spec().vm);
           stop(active);
           return true;
         }) > 0;
}

}  // namespace paravane::worker
