// EngineWatch is the watchdog of the engine. It decides when the keeper tells systemd that the
// daemon works (WatchdogSec= of the unit), and when an engine hangs and is to be killed, so that
// another one serves its VMs.
//
// The engine's worker says in intervals that it turns (Note::Kind::kTurns). The service manager is
// told with each sign, so it is told nothing about a worker that hangs. Such an engine is killed
// before the service manager would end the whole daemon, for that would cost all VMs their adapter
// until they are started again.
//
//   0                  1/3                           5/6      1 of the limit
//   sign               the next sign is due          kKill    the service manager ends the daemon
//
// While the engine is replaced there is no worker that turns, and the service manager is told
// without a sign. Each step of a replacement has a limit, and all of them together have one here.
//
// An engine may be compromised: signs that come too often are heard and not passed on.
//
// One thread. Reads no clock. With no watchdog it is due at no time.

#pragma once

#include <cstdint>

#include "base/instant.h"

namespace paravane::keeper {

class EngineWatch {
 public:
  // What the keeper is to do. kDemand: send kTellTurns, with every().
  enum class Act : std::uint8_t { kNothing, kDemand, kFeed, kKill };
  // Of the engine.
  enum class Life : std::uint8_t {
    kAway,  // not ready yet, or stopping: the service manager has other limits for that
    kServing,
    kChanging,  // it is replaced, or another one is started in its place
  };

  // A shorter limit is taken for this one.
  static constexpr Duration kLeast = std::chrono::seconds(1);

  // `limit`: within which the service manager is to be told; zero: there is no watchdog.
  // `longest_change`: for which it is told of an engine that is replaced.
  EngineWatch(Duration limit, Duration longest_change);

  // Between the signs of a worker.
  Duration every() const { return limit_ / 3; }

  // A sign. True: the service manager is to be told.
  bool on_turns(Instant now);
  Act step(Instant now, Life life);
  // After the last step().
  Instant next_step() const { return next_; }
  // For which the worker has given no sign that was due.
  Duration overdue() const { return overdue_; }

 private:
  Duration look() const { return limit_ / 12; }
  Act enter(Instant now, Life life);
  Act change(Instant now);
  Act serve(Instant now);

  const Duration limit_;
  const Duration longest_change_;
  Life life_ = Life::kAway;
  Instant next_ = kNever;
  Instant fed_{};
  Instant last_look_{};
  Instant changing_until_{};
  Duration overdue_{};
  bool is_killed_ = false;
};

}  // namespace paravane::keeper
