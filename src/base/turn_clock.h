// TurnClock: the time at which the worker's current turn began. A turn is the time slice that the
// worker gives one VM or transport. The worker reads the clock once per turn and stores the time
// here. All code that runs in the turn uses this value instead of reading a clock.
//
// Worker thread only.

#pragma once

#include "base/instant.h"

namespace paravane {

struct TurnClock {
  Instant now{};
};

}  // namespace paravane
