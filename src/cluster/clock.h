// now(): the current time for the code in this folder, which uses it for all waiting times and rate
// limits. The time comes from the steady clock, which is not affected by changes to the system
// time.
//
// Any thread.

#pragma once

#include <chrono>

#include "base/instant.h"

namespace paravane::cluster {

inline Instant now() {
  return std::chrono::steady_clock::now();
}

}  // namespace paravane::cluster
