// Absence determines how long to wait for guest memory that is unmapped at the moment. A VMM
// sometimes unmaps guest memory and usually maps it again at once. If the memory is not mapped
// again within kPatience, for example because the guest freed memory that was in use, the request
// fails.

#pragma once

#include <algorithm>
#include <optional>

#include "base/instant.h"

namespace paravane::verbs {

class Absence {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(1);

  // The memory is absent at `now`. Returns how long to wait before the next check; nullopt: it has
  // been absent for too long.
  std::optional<Duration> next_look(Instant now) {
    if (since_ == kNever) since_ = now;
    const Instant give_up = since_ + kPatience;
    if (now >= give_up) return std::nullopt;
    // As long as it has been absent: twice as long each time.
    return std::min({now - since_ + kFirstLook, kLongestLook, give_up - now});
  }

  // The memory is present, or is no longer needed.
  void clear() { since_ = kNever; }

 private:
  static constexpr Duration kFirstLook = std::chrono::milliseconds(1);
  static constexpr Duration kLongestLook = std::chrono::milliseconds(64);

  Instant since_ = kNever;  // kNever: it is present
};

}  // namespace paravane::verbs
