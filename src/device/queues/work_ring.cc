#include "device/queues/work_ring.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "device/queues/queue_geometry.h"

namespace paravane::device {
namespace {

// What one copy brings of an entry: the header and the SGEs of nearly all
// requests. Send entries are at least 128 bytes apart, receive entries 16.
constexpr std::uint32_t kSgesAtHand = 3;

struct SendEntry {
  abi::SendHeader header;
  std::array<abi::Sge, kSgesAtHand> sges;
};
static_assert(sizeof(SendEntry) == 128 && sizeof(SendEntry) == send_stride(0));

struct ReceiveEntry {
  abi::ReceiveHeader header;
  std::array<abi::Sge, kSgesAtHand> sges;
};
static_assert(sizeof(ReceiveEntry) == 64);

// What a work source says where there is no entry. REQUIRES: `next` is not kEntry.
verbs::WorkSource::Fetch nothing_taken(RingConsumer::Next next) {
  switch (next) {
    case RingConsumer::Next::kEntry: break;
    case RingConsumer::Next::kEmpty: return verbs::WorkSource::Fetch::kEmpty;
    case RingConsumer::Next::kAbsent: return verbs::WorkSource::Fetch::kAbsent;
    case RingConsumer::Next::kBroken: return verbs::WorkSource::Fetch::kBroken;
  }
  assert(false);
  return verbs::WorkSource::Fetch::kEmpty;
}

}  // namespace

WorkRing::WorkRing(PageList& pages, const RingLayout& layout, Counter& broken_rings)
    : ring_(pages, layout),
      receive_bytes_(std::min<std::uint32_t>(sizeof(ReceiveEntry), layout.element_bytes)),
      broken_rings_(broken_rings) {}

RingConsumer::Next WorkRing::peek() {
  const RingConsumer::Next next = ring_.peek();
  if (next == RingConsumer::Next::kBroken && !std::exchange(counted_broken_, true)) {
    broken_rings_.add();
  }
  return next;
}

WorkRing::Fetch WorkRing::peek_send(const WorkDecoder& decoder, verbs::SendRequest& out) {
  const RingConsumer::Next next = peek();
  if (next != RingConsumer::Next::kEntry) return nothing_taken(next);
  SendEntry entry;
  if (ring_.copy_head(0, std::as_writable_bytes(std::span<SendEntry, 1>(&entry, 1))) !=
      Reach::kOk) {
    return Fetch::kAbsent;
  }
  const std::uint32_t sges = decoder.decode_send(entry.header, out);
  if (sges == 1) [[likely]] {
    append_sge(entry.sges[0], out.sges);
    return Fetch::kTaken;
  }
  if (copy_sges(sizeof(entry.header), sges, entry.sges, out.sges) != Reach::kOk) {
    return Fetch::kAbsent;
  }
  return Fetch::kTaken;
}

void WorkRing::pass_send() {
  ring_.advance();
  ++taken_;
}

WorkRing::Fetch WorkRing::take_receive(const WorkDecoder& decoder, verbs::ReceiveRequest& out) {
  const RingConsumer::Next next = peek();
  if (next != RingConsumer::Next::kEntry) return nothing_taken(next);
  ReceiveEntry entry;
  const auto whole = std::as_writable_bytes(std::span<ReceiveEntry, 1>(&entry, 1));
  // Entries of one SGE, and of more, in a row of loads and stores.
  constexpr std::size_t kOneSge = sizeof(abi::ReceiveHeader) + sizeof(abi::Sge);
  const Reach reach = receive_bytes_ == kOneSge ? ring_.copy_head(0, whole.first<kOneSge>())
                      : receive_bytes_ == whole.size()
                          ? ring_.copy_head(0, whole)
                          : ring_.copy_head(0, std::span<std::byte>(whole).first(receive_bytes_));
  if (reach != Reach::kOk) return Fetch::kAbsent;
  const std::uint32_t sges = decoder.decode_receive(entry.header, out);
  const std::size_t at_hand = (receive_bytes_ - sizeof(entry.header)) / sizeof(abi::Sge);
  const std::span<const abi::Sge> copied = std::span(entry.sges).first(at_hand);
  if (sges == 1 && at_hand > 0) [[likely]] {
    append_sge(entry.sges[0], out.sges);
  } else if (copy_sges(sizeof(entry.header), sges, copied, out.sges) != Reach::kOk) {
    return Fetch::kAbsent;
  }
  ring_.advance();
  ++taken_;
  return Fetch::kTaken;
}

Reach WorkRing::copy_sges(std::uint32_t header_bytes, std::uint32_t count,
                          std::span<const abi::Sge> at_hand, verbs::SgeList& out) {
  const auto first = std::min<std::uint32_t>(count, static_cast<std::uint32_t>(at_hand.size()));
  append_sges(at_hand.first(first), out);
  const std::uint32_t rest = count - first;
  if (rest == 0) return Reach::kOk;
  std::array<abi::Sge, verbs::kMaxSges> more;
  const std::span<abi::Sge> wanted = std::span(more).first(rest);
  const auto offset = static_cast<std::uint32_t>(header_bytes + first * sizeof(abi::Sge));
  const Reach reach = ring_.copy_head(offset, std::as_writable_bytes(wanted));
  if (reach == Reach::kOk) append_sges(wanted, out);
  return reach;
}

bool WorkRing::more_posted() {
  // Only forward counts: an index that goes back and forth is not work.
  const std::uint32_t total = taken_ + ring_.available();
  if (ring_.broken()) return !counted_broken_;  // the engine draws the conclusions
  if (static_cast<std::int32_t>(total - seen_) <= 0) return false;
  seen_ = total;
  return true;
}

void WorkRing::reset() {
  ring_.reset();
  taken_ = 0;
  seen_ = 0;
  counted_broken_ = false;
}

}  // namespace paravane::device
