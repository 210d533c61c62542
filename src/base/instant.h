// Time as the rooms below daemon/ see it: a value that is passed in. Only daemon/ reads a clock,
// so every test can set the time.

#pragma once

#include <chrono>

namespace paravane {

using Duration = std::chrono::nanoseconds;
using Instant = std::chrono::time_point<std::chrono::steady_clock, Duration>;

inline constexpr Instant kNever = Instant::max();

}  // namespace paravane
