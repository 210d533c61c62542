// TimerQueue: calls functions (callbacks) at given times. It reads no clock. The owner passes the
// current time to run_due(), which runs the callbacks that are due, in the order of their
// deadlines. A callback may set and cancel timers, including its own.
//
// The queue is a heap, and cancelled timers are removed from it later. Setting or cancelling a
// timer takes O(log n) time, and reading the next deadline takes O(1).
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "base/instant.h"

namespace paravane {

enum class TimerId : std::uint64_t { kNone = 0 };

class TimerQueue {
 public:
  using Callback = std::function<void(Instant now)>;

  TimerQueue() = default;
  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;

  TimerId set(Instant due, Callback callback);

  // Cancelling kNone, or a timer that has run, does nothing.
  void cancel(TimerId id);

  // Runs at most `limit` callbacks that are due at `now`; returns how many ran.
  std::size_t run_due(Instant now, std::size_t limit = 1024);

  // The deadline of the next timer; kNever: no timer is set. The result may be too early but never
  // too late.
  Instant next_deadline();

  std::size_t size() const { return callbacks_.size(); }

 private:
  struct Entry {
    Instant due;
    std::uint64_t id;
    friend bool operator>(const Entry& a, const Entry& b) {
      return a.due != b.due ? a.due > b.due : a.id > b.id;
    }
  };
  void drop_cancelled();

  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
  std::unordered_map<std::uint64_t, Callback> callbacks_;
  std::uint64_t next_id_ = 1;
};

}  // namespace paravane
