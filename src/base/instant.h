// Instant: a point in time, as a value of the steady clock. Duration: a length of time in
// nanoseconds. Most code gets the current time as an argument instead of reading a clock, so that
// tests can set the time.

#pragma once

#include <chrono>

namespace paravane {

using Duration = std::chrono::nanoseconds;
using Instant = std::chrono::time_point<std::chrono::steady_clock, Duration>;

inline constexpr Instant kNever = Instant::max();

}  // namespace paravane
