// TurnSchedule decides which tenant of the worker (an adapter or a transport) runs next. It uses
// deficit round robin by time. In every round, each tenant with work gets one turn, with the same
// budget and the same share of time. A tenant that exceeds its share, by a long command or a flood
// of messages, skips later turns to make up for it. No tenant therefore gets more than its share
// while others have work. Each round starts with a different tenant.
//
// Turns are measured with a clock, because reading it is cheap. If a turn seems long, it is
// possible that another process has used the CPU. The tenant is then charged the CPU time of the
// worker instead.
//
// Worker thread only. It reads only the clocks that it is given.

#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/instant.h"
#include "base/turn_clock.h"
#include "worker/tenant.h"

namespace paravane::worker {

struct TurnLimits {
  Duration share = std::chrono::microseconds(100);
  std::int64_t bytes = std::int64_t{512} * 1024;  // about half a share of copying
  std::int32_t operations = 256;
};

class TurnSchedule {
 public:
  using Clock = std::function<Instant()>;
  using ProcessorTime = std::function<Duration()>;  // of the worker, so far

  TurnSchedule(TurnLimits limits, Clock clock, ProcessorTime processor_time = {})
      : limits_(limits), clock_(std::move(clock)), processor_time_(std::move(processor_time)) {}

  // The caller keeps the tenant, and must call remove() before destroying it.
  void add(Tenant& tenant);
  void remove(Tenant& tenant);

  // One round. True: a tenant worked, or was deferred.
  bool round();

  // Reads the clock without a round.
  void tell_time() { turn_clock_.now = clock_(); }
  // When the last round ended, so that callers need not read the clock again.
  Instant time() const { return turn_clock_.now; }
  // The time for code that is called within a turn.
  const TurnClock& turn_clock() const { return turn_clock_; }

  // The earliest time at which a tenant needs a turn; <= now if a tenant has work.
  Instant next_look(Instant now);

  std::size_t tenants() const { return entries_.size(); }

 private:
  struct Entry {
    Tenant* tenant;
    Duration credit;
  };
  bool give_turn(Entry& entry);
  void read_processor_time();
  Duration charge_for(Duration used);

  TurnLimits limits_;
  Clock clock_;
  ProcessorTime processor_time_;
  TurnClock turn_clock_;
  Duration processor_read_{};  // the processor time when it was read last
  Instant processor_read_at_{};
  std::vector<Entry> entries_;
  std::size_t first_ = 0;
};

}  // namespace paravane::worker
