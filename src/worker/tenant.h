// Tenant is the interface of an object that uses a worker's time, such as a VM's adapter or a
// transport. The worker gives its tenants time slices, called turns, one after the other. A turn is
// bounded, so that the other tenants do not wait long.
//
// Worker thread only.

#pragma once

#include "base/counter.h"
#include "base/instant.h"
#include "verbs/transport.h"

namespace paravane::worker {

struct TurnCounters {
  CounterSet set;
  Counter turns{set, "turns", "time slices of the worker used"};
  Counter busy_us{set, "busy_us", "worker time used, in microseconds"};
  Counter put_off{set, "turns_put_off", "time slices deferred after exceeding the fair share"};
  Counter broken_off{set, "turns_broken_off", "time slices aborted for lack of memory"};
  Counter longest_turn_us{set, "longest_turn_us", "longest time slice, in microseconds"};
};

class Tenant {
 public:
  virtual ~Tenant() = default;

  // Whether there is something to do now.
  virtual bool has_work() const = 0;
  // If there is no work: when the tenant needs a turn even if nothing happens; kNever: never.
  virtual Instant next_look() = 0;

  // Works within `budget` and for about one share of time. False: there was nothing to do.
  virtual bool turn(Instant now, verbs::Budget& budget) = 0;

  // A turn may be much shorter than a microsecond, so fractions are carried over.
  void add_busy(Duration used) {
    busy_ += used;
    const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(busy_);
    turn_counters_.busy_us.add(static_cast<std::uint64_t>(whole.count()));
    busy_ -= whole;
  }

  TurnCounters& turn_counters() { return turn_counters_; }
  const TurnCounters& turn_counters() const { return turn_counters_; }

 private:
  TurnCounters turn_counters_;
  Duration busy_{};
};

}  // namespace paravane::worker
