#include "capture/packet_ring.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace paravane::capture {

PacketRing::PacketRing(std::size_t bytes, std::uint32_t interfaces)
    : buffer_(bytes), counts_(interfaces) {
  assert(std::has_single_bit(bytes));
}

bool PacketRing::has_room(std::size_t kept_bytes) const {
  const std::uint64_t used =
      written_.load(std::memory_order_relaxed) - taken_.load(std::memory_order_acquire);
  return sizeof(PacketInfo) + kept_bytes <= buffer_.size() - used;
}

bool PacketRing::push(const PacketInfo& info, std::span<const std::byte> packet) {
  assert(info.kept_bytes == packet.size());
  Counts& counts = counts_[info.interface];
  counts.seen.fetch_add(1, std::memory_order_relaxed);
  if (!has_room(packet.size())) {
    counts.dropped.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  const std::uint64_t dropped = counts.dropped.load(std::memory_order_relaxed);
  PacketInfo told = info;
  told.dropped_before = dropped - std::exchange(counts.dropped_before, dropped);
  const std::uint64_t written = written_.load(std::memory_order_relaxed);
  copy_in(written, std::as_bytes(std::span(&told, 1)));
  copy_in(written + sizeof(PacketInfo), packet);
  written_.store(written + sizeof(PacketInfo) + packet.size(), std::memory_order_release);
  return true;
}

void PacketRing::count_dropped(std::uint32_t interface, std::uint64_t packets) {
  counts_[interface].seen.fetch_add(packets, std::memory_order_relaxed);
  counts_[interface].dropped.fetch_add(packets, std::memory_order_relaxed);
}

std::optional<PacketInfo> PacketRing::take(std::vector<std::byte>& packet) {
  const std::uint64_t taken = taken_.load(std::memory_order_relaxed);
  if (taken == written_.load(std::memory_order_acquire)) return std::nullopt;
  PacketInfo info;
  copy_out(taken, std::as_writable_bytes(std::span(&info, 1)));
  packet.resize(info.kept_bytes);
  copy_out(taken + sizeof(PacketInfo), packet);
  taken_.store(taken + sizeof(PacketInfo) + info.kept_bytes, std::memory_order_release);
  return info;
}

InterfaceCounts PacketRing::counts(std::uint32_t interface) const {
  return {.seen = counts_[interface].seen.load(std::memory_order_relaxed),
          .dropped = counts_[interface].dropped.load(std::memory_order_relaxed)};
}

void PacketRing::copy_in(std::uint64_t at, std::span<const std::byte> bytes) {
  const std::size_t from = at & (buffer_.size() - 1);
  const std::size_t until_end = std::min(bytes.size(), buffer_.size() - from);
  std::ranges::copy(bytes.first(until_end), buffer_.begin() + static_cast<std::ptrdiff_t>(from));
  std::ranges::copy(bytes.subspan(until_end), buffer_.begin());
}

void PacketRing::copy_out(std::uint64_t at, std::span<std::byte> bytes) const {
  const std::size_t from = at & (buffer_.size() - 1);
  const std::size_t until_end = std::min(bytes.size(), buffer_.size() - from);
  const auto whole = std::span(buffer_);
  std::ranges::copy(whole.subspan(from, until_end), bytes.begin());
  std::ranges::copy(whole.first(bytes.size() - until_end),
                    bytes.begin() + static_cast<std::ptrdiff_t>(until_end));
}

}  // namespace paravane::capture
