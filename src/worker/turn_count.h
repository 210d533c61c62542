// TurnCount lets another thread (turn_watch.h) see whether the worker makes progress, that is,
// whether it completes turns, the time slices of its tenants.
//
// It costs the worker one store per turn. When the worker wakes up and is not being watched, it
// wakes the watching thread. While the worker is idle, both threads sleep.

#pragma once

#include <atomic>
#include <cstdint>

namespace paravane::worker {

class TurnCount {
 public:
  // ---- the worker ----
  void turned() {
    turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void falls_asleep() { asleep_.store(true); }
  void wakes_up() {
    asleep_.store(false);
    if (watched_.load() == 0) expect();
  }

  // ---- any thread ---- A turn is due. Wakes the watcher if it is not watching.
  void expect() {
    if (watched_.exchange(1) == 0) watched_.notify_one();
  }

  // ---- the watcher ----
  std::uint64_t turns() const { return turns_.load(std::memory_order_relaxed); }
  bool asleep() const { return asleep_.load(); }
  bool is_watched() const { return watched_.load() != 0; }
  void await_expectation() const { watched_.wait(0); }
  // Stops watching until a turn is expected. The watcher must check once more after this call, for
  // a turn that became due just before.
  void look_away() { watched_.store(0); }

 private:
  std::atomic<std::uint64_t> turns_{0};
  std::atomic<bool> asleep_{false};
  std::atomic<int> watched_{1};  // an int: what futex(2) takes
};

}  // namespace paravane::worker
