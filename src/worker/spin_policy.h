// SpinPolicy decides what a worker does between two rounds. The worker can continue at once, spin
// (poll without sleeping), or sleep until a task is due.
//
// Worker thread only. It reads no clock; the caller passes the time.

#pragma once

#include <cstdint>

#include "base/instant.h"

namespace paravane::worker {

enum class SpinMode : std::uint8_t {
  kAuto,    // spins, but sleeps where it takes the processor from others
  kAlways,  // has a processor of its own
  kNever,   // sleeps as soon as there is nothing to do
};

struct Rest {
  enum class Kind : std::uint8_t { kGoOn, kSpin, kSleep };
  Kind kind = Kind::kGoOn;
  Instant until = kNever;  // kSleep
};

class SpinPolicy {
 public:
  // `processors`: how many this process may use.
  SpinPolicy(SpinMode mode, Duration spin_for, unsigned processors);

  // Call it after each round. `worked`: whether the round did something; `next_look`: the latest
  // time of the next round.
  Rest after_round(Instant now, bool worked, Instant next_look);

  // Whether another thread recently ran on our processor.
  bool crowded(Instant now) const { return now < crowded_until_; }

 private:
  SpinMode mode_;
  Duration spin_for_;
  bool has_room_;  // on a single processor, spinning only keeps others from working
  Instant last_work_{};
  Instant last_round_{};
  bool was_spinning_ = false;
  Instant crowded_until_{};
};

}  // namespace paravane::worker
