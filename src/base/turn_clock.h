// TurnClock: the time of the worker's current turn. TurnSchedule reads the CPU clock once per turn
// and stores the time here; code that the engine, a timer or a socket calls in between reads it
// here and needs no clock of its own.
//
// Worker thread only.

#pragma once

#include "base/instant.h"

namespace paravane {

struct TurnClock {
  Instant now{};
};

}  // namespace paravane
