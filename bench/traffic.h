// Traffic: what a run over the wire between two hosts moved, how long that took, and what
// it cost the processors of each side.
//
// Plain values.

#pragma once

#include <sys/resource.h>

#include <array>
#include <cstdint>

namespace paravane::bench {

struct Traffic {
  double bytes = 0;
  double seconds = 0;
  std::array<double, 2> cpu_seconds{};  // of who sends, of who receives

  double mega_per_second() const { return bytes / seconds / 1e6; }
  double cpu_per_gib(unsigned side) const {
    return cpu_seconds[side] / (bytes / static_cast<double>(std::uint64_t{1} << 30));
  }
};

inline double cpu_seconds(const rusage& usage) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Of the calling thread so far.
inline double thread_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return cpu_seconds(usage);
}

}  // namespace paravane::bench
