// SpinPolicy: what a worker does between two rounds: continue at once, spin, or sleep until
// something is due.
//
// Worker thread only. Reads no clock: time is passed in.

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

  // After a round. `worked`: it did something; `next_look`: when the next round
  // is needed at the latest.
  Rest after_round(Instant now, bool worked, Instant next_look);

  // Another thread ran on our processor not long ago.
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
