// TurnClock: the time of the worker's current turn. The device is told once per
// turn (PvrdmaDevice::set_now); its parts read it here, so that a callback from
// the engine needs no clock of its own.

#pragma once

#include "base/instant.h"

namespace paravane::device {

struct TurnClock {
  Instant now{};
};

}  // namespace paravane::device
