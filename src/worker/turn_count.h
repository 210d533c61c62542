// TurnCount: lets a watching thread see whether the worker takes turns (turn_watch.h). It costs
// the worker one store per turn, and wakes a thread only when the worker itself wakes up while
// nothing watches it: an idle worker is left alone.

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

  // ---- any thread ----
  // A turn is due: the watcher is to look, if it does not already.
  void expect() {
    if (watched_.exchange(1) == 0) watched_.notify_one();
  }

  // ---- the watcher ----
  std::uint64_t turns() const { return turns_.load(std::memory_order_relaxed); }
  bool asleep() const { return asleep_.load(); }
  bool is_watched() const { return watched_.load() != 0; }
  void await_expectation() const { watched_.wait(0); }
  // Until a turn is expected. What happened just before is seen by a look after this.
  void look_away() { watched_.store(0); }

 private:
  std::atomic<std::uint64_t> turns_{0};
  std::atomic<bool> asleep_{false};
  std::atomic<int> watched_{1};  // an int: what futex(2) takes
};

}  // namespace paravane::worker
