// doubled_pause(): how long to wait before something is tried again that did not work: twice as
// long as the last time, within bounds.
//
// A pure function; any thread.

#pragma once

#include <algorithm>

#include "base/instant.h"

namespace paravane {

// The pause after `pause`; zero: there was none, and `first` is next.
constexpr Duration doubled_pause(Duration pause, Duration first, Duration longest) {
  return std::clamp(2 * pause, first, longest);
}

}  // namespace paravane
