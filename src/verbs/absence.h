// Absence: how long to wait for memory that is unmapped. The VMM remaps guest memory now and then,
// and the memory returns at once; a guest that frees memory in use gets a clean failure.

#pragma once

#include <algorithm>
#include <optional>

#include "base/instant.h"

namespace paravane::verbs {

class Absence {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(1);

  // The memory is absent, seen at `now`: how long to wait before the next look.
  // nullopt: it has been absent for too long.
  std::optional<Duration> next_look(Instant now) {
    if (!since_) {
      since_ = now;
      interval_ = kFirstLook;
    }
    const Instant give_up = *since_ + kPatience;
    if (now >= give_up) return std::nullopt;
    const Duration wait = std::min(interval_, give_up - now);
    interval_ = std::min(2 * interval_, kLongestLook);
    return wait;
  }

  // It is present, or no longer awaited.
  void clear() { since_.reset(); }

 private:
  static constexpr Duration kFirstLook = std::chrono::milliseconds(1);
  static constexpr Duration kLongestLook = std::chrono::milliseconds(64);

  std::optional<Instant> since_;
  Duration interval_{};
};

}  // namespace paravane::verbs
