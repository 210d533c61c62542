// TimerQueue: callbacks that are due at an Instant.
//
// A heap with lazy deletion: setting and cancelling cost O(log n), asking for
// the next deadline O(1). Callbacks run from run_due(), in order of their
// deadline; they may set and cancel timers, themselves included.
//
// Owner thread only. Reads no clock.

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

  // kNever when nothing is set. May be early, never late.
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
