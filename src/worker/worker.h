// Worker is the thread that owns all devices, with their sockets, queues and transports. It gives
// its tenants (adapters and transports) time slices, called turns.
//
// The worker spins (polls without sleeping) while there is work and for a short time afterwards.
// Then it sleeps until a message or a socket wakes it, or a tenant needs a turn.
//
// Other threads may use only post() and ask().

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/counter.h"
#include "base/event_loop.h"
#include "base/limited_log.h"
#include "base/mailbox.h"
#include "base/result.h"
#include "worker/spin_policy.h"
#include "worker/standstill.h"
#include "worker/turn_count.h"
#include "worker/turn_schedule.h"
#include "worker/turn_watch.h"
#include "worker/worker_stall.h"

namespace paravane::worker {

struct WorkerConfig {
  SpinMode spin = SpinMode::kAuto;
  Duration spin_for = std::chrono::microseconds(200);
  TurnLimits turn{};
  std::optional<unsigned> cpu{};  // bound to it
  StallConfig stall{};
  // Called when the worker has not completed a turn for `held_after`, and when it runs again; on a
  // separate thread. Empty: no notification.
  TurnWatch::Tell on_held{};
  Duration held_after = std::chrono::seconds(5);
  // Gives no turns and reads no sockets until begin_turns(); messages are carried out.
  bool waits_for_begin = false;
  // Called on the worker's thread when messages were not carried out for lack of memory.
  std::function<void()> on_lost{};
};

struct WorkerCounters {
  CounterSet set;
  Counter rounds{set, "rounds", "rounds over all adapters and transports"};
  Counter busy_rounds{set, "busy_rounds", "rounds that did some work"};
  Counter sleeps{set, "sleeps", "times the worker went to sleep"};
  CounterSet of_tests;  // shown to no operator
  Counter stalls{of_tests, "stalls", "times the worker was held asleep by a test"};
};

class Worker {
 public:
  // The thread runs from here on. Errors: kIo.
  static Result<std::unique_ptr<Worker>> start(const WorkerConfig& config);
  // REQUIRES: no tenants. Ends the thread.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // ---- Any thread ----
  bool post(Mailbox::Message message) { return mailbox_.post(std::move(message)); }
  // See Mailbox::ask().
  template <typename Function>
  auto ask(Function function) {
    return mailbox_.ask(std::move(function), kAskLimit);
  }
  // Ends WorkerConfig::waits_for_begin.
  void begin_turns() {
    post([this] { begun_ = true; });
  }

  // Calls `tell` on the worker's thread after a turn, at once and then each `every`; for that a
  // worker with nothing to do wakes up. Of several calls the last counts.
  void tell_turns(Duration every, std::function<void()> tell);

  // Runs `act` on the worker's thread, which stands still afterwards until thaw(): no turn, no
  // message, no socket. Waits for it; false: `act` did not run, since the worker did not respond in
  // time or memory ran out. The thread that freezes thaws, also after false.
  bool freeze(std::function<void()> act);
  void thaw();

  // Null: no notification.
  const TurnState* turn_state() const { return watch_ ? &watch_->state() : nullptr; }

  // ---- Worker thread only: from messages and tenants ----
  EventLoop& loop() { return *loop_; }
  TurnSchedule& schedule() { return schedule_; }
  const WorkerCounters& counters() const { return counters_; }

 private:
  static constexpr std::chrono::milliseconds kAskLimit{5000};
  static constexpr std::chrono::milliseconds kFreezeLimit{1000};

  Worker(const WorkerConfig& config, std::unique_ptr<EventLoop> loop);
  void run();
  void wait_for_message();
  void prepare_thread() const;
  void deliver();
  void look_at_sockets(Instant now);
  void rest(Instant now, bool worked);
  void stall_for_test(Instant now);
  void tell_turn(Instant now);

  WorkerConfig config_;
  std::unique_ptr<EventLoop> loop_;
  Mailbox mailbox_;
  TurnSchedule schedule_;
  SpinPolicy spin_;
  WorkerStall stall_;
  WorkerCounters counters_;
  LimitedLog complaints_;
  Instant next_socket_look_{};
  // Worker thread.
  struct Sign {
    Duration every{};
    std::function<void()> tell;
    Instant next = kNever;
  };
  Sign sign_;
  bool stopping_ = false;                   // worker thread
  bool begun_ = true;                       // likewise
  std::atomic<std::uint32_t> posted_{0};    // counts on; what a worker that has not begun waits for
  std::shared_ptr<Standstill> standstill_;  // of the thread that freezes
  std::atomic<bool> frozen_{false};
  TurnCount turns_;
  std::optional<TurnWatch> watch_;
  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace paravane::worker
