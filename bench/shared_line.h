// SharedLine: one word in a cache line of its own, for floors: what two cores
// tell each other with nothing around it.

#pragma once

#include <atomic>
#include <cstdint>

namespace paravane::bench {

struct alignas(64) SharedLine {
  std::atomic<std::uint64_t> word{0};

  void say(std::uint64_t value) { word.store(value, std::memory_order_release); }
  std::uint64_t hear() const { return word.load(std::memory_order_acquire); }
  // Without a pause: nothing could be faster.
  void await(std::uint64_t value) const {
    while (hear() != value) {
    }
  }
};

}  // namespace paravane::bench
