// The room's clock: what waits or limits here counts from it. Any thread.

#pragma once

#include <chrono>

#include "base/instant.h"

namespace paravane::cluster {

inline Instant now() {
  return std::chrono::steady_clock::now();
}

}  // namespace paravane::cluster
