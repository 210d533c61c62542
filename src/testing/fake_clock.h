// FakeClock: a time that only the test moves.
//
// Owner thread only.

#pragma once

#include "base/instant.h"

namespace paravane::fake {

class FakeClock {
 public:
  Instant now() const { return now_; }
  void advance(Duration duration) { now_ += duration; }
  void advance_to(Instant instant) { now_ = instant > now_ ? instant : now_; }

 private:
  Instant now_{std::chrono::hours(1)};  // not 0, so that a forgotten one shows
};

}  // namespace paravane::fake
