// TurnTime: the two sources of time that everything in a turn of the worker uses. These are the
// timers that are due in a turn, and the time at which the current turn began.
//
// Worker thread only.

#pragma once

#include "base/timers.h"
#include "base/turn_clock.h"

namespace paravane {

struct TurnTime {
  TimerQueue& timers;
  const TurnClock& clock;
};

}  // namespace paravane
