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
