// Standstill keeps a thread where it is: the worker's thread stops in the middle of a message, and
// goes on when another thread says so. Nothing that the worker owns changes in between.
//
// Two threads: the one that stands still, and the one that asked for it.

#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "base/memory_shortage.h"

namespace paravane::worker {

class Standstill {
 public:
  // ---- The thread that stands still ----
  // Runs `act`, and returns after end(). Does nothing if it was called off.
  void keep(const std::function<void()>& act) {
    std::unique_lock lock(mutex_);
    if (stage_ == Stage::kCalledOff) return;
    stage_ = Stage::kActing;
    changed_.notify_all();  // so that the other thread waits without a limit
    lock.unlock();
    const bool had_memory = runs_in_memory(act);
    lock.lock();
    has_acted_ = had_memory;
    if (stage_ == Stage::kActing) stage_ = Stage::kStanding;
    changed_.notify_all();
    changed_.wait(lock, [this] { return stage_ == Stage::kOver; });
  }

  // ---- The other thread ----
  // Waits until `act` has run; false: it has not begun within `limit` and never will, or broke off
  // for lack of memory. In either case end() must be called.
  bool wait(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit, [this] { return stage_ != Stage::kAsked; });
    if (stage_ == Stage::kAsked) {
      stage_ = Stage::kCalledOff;
      return false;
    }
    changed_.wait(lock, [this] { return stage_ != Stage::kActing; });
    return has_acted_;
  }

  void end() {
    {
      const std::lock_guard lock(mutex_);
      if (stage_ != Stage::kCalledOff) stage_ = Stage::kOver;
    }
    changed_.notify_all();
  }

 private:
  enum class Stage { kAsked, kCalledOff, kActing, kStanding, kOver };

  std::mutex mutex_;
  std::condition_variable changed_;
  Stage stage_ = Stage::kAsked;
  bool has_acted_ = false;
};

}  // namespace paravane::worker
