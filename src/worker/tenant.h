// Tenant: one of the users of a worker's time: a VM's adapter, or a transport. The worker gives
// each a bounded turn, one after the other.
//
// Worker thread only.

#pragma once

#include "base/counter.h"
#include "base/instant.h"
#include "verbs/transport.h"

namespace paravane::worker {

struct TurnCounters {
  CounterSet set;
  Counter turns{set, "turns", "worker turns taken"};
  Counter busy_us{set, "busy_us", "worker time used, in microseconds"};
  Counter put_off{set, "turns_put_off", "turns deferred after exceeding the fair share"};
  Counter broken_off{set, "turns_broken_off", "turns aborted for lack of memory"};
  Counter longest_turn_us{set, "longest_turn_us", "longest turn, in microseconds"};
};

class Tenant {
 public:
  virtual ~Tenant() = default;

  // There is something to do at once.
  virtual bool has_work() const = 0;
  // Otherwise, when it wants a turn though nothing happens; kNever: not at all.
  virtual Instant next_look() = 0;

  // Works within `budget` and about one share of time. False: there was nothing
  // to do after all.
  virtual bool turn(Instant now, verbs::Budget& budget) = 0;

  // Turns are far shorter than a microsecond at times: the rest is carried over.
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
