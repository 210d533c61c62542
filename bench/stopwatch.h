// Stopwatch: time since it was made. The benchmark's own clock.

#pragma once

#include <chrono>

namespace paravane::bench {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  double microseconds() const { return seconds() * 1e6; }
  // Since it was made, or since the last lap.
  double lap_microseconds() {
    const auto before = begin_;
    begin_ = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::micro>(begin_ - before).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace paravane::bench
