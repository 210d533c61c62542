// The two processors a benchmark runs on: guests on one, the worker on the other.
// Threads are bound to them, so that every figure and its floor cross the same
// distance.

#pragma once

#include <sched.h>

#include <optional>

namespace paravane::bench {

struct Cores {
  unsigned guest = 0;
  unsigned worker = 0;
};

// nullopt: this process may use only one.
std::optional<Cores> choose_cores();

// How far the cores are from each other. A hypervisor can move them to others at any time.
enum class Distance {
  kNear,     // they share a cache
  kDistant,  // a cache line goes from one to the other in 0.12 us or more
};
Distance measure_distance(const Cores& cores);

// Holds the calling thread on a core, while it lives. Threads that are started
// meanwhile inherit it.
class OnCore {
 public:
  explicit OnCore(unsigned core);
  ~OnCore();
  OnCore(const OnCore&) = delete;
  OnCore& operator=(const OnCore&) = delete;

 private:
  cpu_set_t before_;
};

// Tells the processor that a loop waits for another core.
inline void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace paravane::bench
