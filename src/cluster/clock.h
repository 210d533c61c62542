// The clock of this room: all waiting times and rate limits here are measured with it. Any thread.

#pragma once

#include <chrono>

#include "base/instant.h"

namespace paravane::cluster {

inline Instant now() {
  return std::chrono::steady_clock::now();
}

}  // namespace paravane::cluster
