// Gap is how long no engine serves the VMs while one replaces another, and what that time is spent
// on. All times are of the steady clock, which the processes of a host share.

#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/instant.h"

namespace paravane::daemon {

struct Gap {
  Instant frozen{};  // the engine before stands still, as it says itself; zero: it does not
  Instant first{};   // it has saved everything: the first parcel of the estate is there
  Instant all{};     // the last one is there
  Instant taken{};   // the heir has loaded all of it
  Instant go{};      // the engine before has ended
  Instant begun{};   // the heir's worker serves
  std::uint64_t state_bytes = 0;

  // Of the whole; 0: it is not known.
  Duration length() const;
  // Of the event that tells of it: gap_ms, each part in microseconds, the bytes of all states.
  std::map<std::string, std::string> fields() const;
};

}  // namespace paravane::daemon
