#include "sniff/numbering.h"

#include <algorithm>

#include "verbs/types.h"

namespace paravane::sniff {
namespace {

// Above what any transport has under way of one queue pair.
constexpr std::size_t kRemembered = 128;

}  // namespace

std::uint32_t mtu_bytes(std::uint32_t path_mtu) {
  return 128u << std::clamp<std::uint32_t>(path_mtu, 1, 5);
}

std::uint32_t packets_of(std::uint64_t length, std::uint32_t mtu) {
  if (length == 0) return 1;
  const std::uint64_t sent = std::min<std::uint64_t>(length, verbs::kMaxMessageBytes);
  return static_cast<std::uint32_t>((sent + mtu - 1) / mtu);
}

verbs::Psn Numbering::first_of(std::uint64_t serial, std::uint32_t packets) {
  if (serial != 0) {
    const auto known = std::ranges::find(latest_, serial, &Request::serial);
    if (known != latest_.end()) return known->first;
    if (latest_.size() == kRemembered) latest_.pop_front();
    latest_.push_back({.serial = serial, .first = next_});
  }
  const verbs::Psn first = next_;
  next_ = next_.plus(packets);
  return first;
}

std::uint32_t Numbering::count_done(std::uint64_t serial) {
  if (serial > last_done_) {
    last_done_ = serial;
    done_ = (done_ + 1) & verbs::Psn::kMask;
  }
  return done_;
}

}  // namespace paravane::sniff
