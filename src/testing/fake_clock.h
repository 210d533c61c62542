// FakeClock: a time that only the test moves.
//
// Owner thread only.

#pragma once

#include <algorithm>

#include "base/turn_clock.h"

namespace paravane::fake {

class FakeClock {
 public:
  Instant now() const { return turn_clock_.now; }
  const TurnClock& turn_clock() const { return turn_clock_; }
  void advance(Duration duration) { turn_clock_.now += duration; }
  void advance_to(Instant instant) { turn_clock_.now = std::max(turn_clock_.now, instant); }

 private:
  TurnClock turn_clock_{Instant(std::chrono::hours(1))};  // not 0, so that a forgotten one shows
};

}  // namespace paravane::fake
