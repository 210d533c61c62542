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

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace paravane::bench
