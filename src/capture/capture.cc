#include "capture/capture.h"

#include <chrono>

#include "text/pcapng.h"

namespace paravane::capture {
namespace {

// Of one answer, before it is written as text.
constexpr std::size_t kMostBlockBytes = std::size_t{512} * 1024;

}  // namespace

std::uint64_t wall_clock_ns() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count());
}

model::CaptureStatus Capture::status() const {
  model::CaptureStatus status{.id = id_, .spec = spec_, .interfaces = {}, .ended = has_ended()};
  for (std::uint32_t i = 0; i < interfaces_.size(); ++i) {
    const InterfaceCounts counts = ring_.counts(i);
    status.interfaces.push_back(
        {.name = interfaces_[i], .packets = counts.seen, .dropped = counts.dropped});
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
                                 .is_outbound = info->is_outbound},
                                bytes, packets.blocks);
  }
  packets.status = status();
  packets.status.ended = ended && is_empty;
  return packets;
}

}  // namespace paravane::capture
