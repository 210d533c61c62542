// What a guest can do to make one turn of the worker long, each with real commands and
// real objects: for the test that bounds what a turn touches, and for the benchmark that
// says how much processor time that is.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <span>

namespace paravane::fake {

struct LongestTurn {
  std::uint64_t touched = 0;     // objects, pages and entries, as the device counts them
  double processor_seconds = 0;  // of this thread, in the device's calls alone
};

struct HostileTurns {
  const char* name;
  // `scale` divides the numbers of objects: 1 for those that the default quotas allow.
  LongestTurn (*run)(std::uint32_t scale);
};

std::span<const HostileTurns> hostile_turns();

}  // namespace paravane::fake
