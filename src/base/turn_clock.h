// TurnClock: the time of the worker's current turn. TurnSchedule reads the processor's clock
// once per turn and keeps the time here; whatever is called back in between, by the engine, a
// timer or a socket, reads it here and needs no clock of its own.
//
// Worker thread only.

#pragma once

#include "base/instant.h"

namespace paravane {

struct TurnClock {
  Instant now{};
};

}  // namespace paravane
