// EndedConnections: connections that ended a moment ago. Their peers may ask again for what was
// answered and lost: an answer is owed for as long as a peer asks (IBTA volume 1, 12.9).
//
// Bounded: the oldest goes for the newest. A plain value; the thread of its owner.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "base/instant.h"
#include "wire/infiniband/datagram.h"

namespace paravane::connection {

class EndedConnections {
 public:
  static constexpr std::size_t kMost = 1024;
  // Longer than a peer asks: 16 times, 1.07 s apart.
  static constexpr Duration kLife = std::chrono::seconds(30);

  struct Ended {
    wire::infiniband::Gid peer{};
    std::uint32_t local_qp = 0;
    // Absent: the peer had not named it.
    std::optional<std::uint32_t> remote_id{};
  };

  void put(std::uint32_t id, const Ended& ended, Instant now) {
    forget_old(now);
    if (order_.size() >= kMost) drop_oldest();
    order_.push_back({.id = id, .until = now + kLife});
    by_id_.insert_or_assign(id, ended);
  }
  // nullptr: unknown, or ended long ago.
  const Ended* find(std::uint32_t id, Instant now) {
    forget_old(now);
    const auto found = by_id_.find(id);
    return found != by_id_.end() ? &found->second : nullptr;
  }
  bool contains(std::uint32_t id) const { return by_id_.contains(id); }
  std::size_t size() const { return by_id_.size(); }

 private:
  struct Place {
    std::uint32_t id = 0;
    Instant until{};
  };
  void forget_old(Instant now) {
    while (!order_.empty() && order_.front().until <= now) drop_oldest();
  }
  void drop_oldest() {
    by_id_.erase(order_.front().id);
    order_.pop_front();
  }

  std::deque<Place> order_;  // oldest first
  std::unordered_map<std::uint32_t, Ended> by_id_;
};

}  // namespace paravane::connection
