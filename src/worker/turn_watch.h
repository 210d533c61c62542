// TurnWatch is a thread that reports when the worker is stuck (in the kernel, because of a bug, or
// because another program has suspended it) and when it runs again. It does not end the daemon,
// because every VM would lose its adapter, and most causes are temporary. With a watchdog, the
// keeper ends an engine that stays stuck (keeper/engine_watch.h).
//
// A worker that sleeps while no message waits for it is not stuck, and TurnWatch does not check it.
// While all VMs are idle, TurnWatch therefore sleeps as long as the worker sleeps.
//
// It is a separate thread because all other threads can wait for the worker.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/instant.h"
#include "worker/turn_count.h"

namespace paravane::worker {

inline constexpr Duration kTurnLook = std::chrono::milliseconds(250);

struct TurnNews {
  bool is_held = false;
  Duration lasted{};  // until now
};

// Reads no clock.
class TurnJudge {
 public:
  explicit TurnJudge(Duration limit) : limit_(limit) {}

  // Call it for each check. `is_due`: the worker is not asleep, or has a message.
  std::optional<TurnNews> look(Instant now, std::uint64_t turns, bool is_due);
  bool is_held() const { return is_held_; }

 private:
  const Duration limit_;
  std::uint64_t turns_ = 0;
  Instant last_look_{};
  Duration without_{};  // a turn; time in which we did not run ourselves counts for little
  bool is_held_ = false;
};

// For the page of metrics. Any thread.
struct TurnState {
  std::atomic<bool> is_held{false};
  std::atomic<std::uint64_t> holds{0};
};

class TurnWatch {
 public:
  using HasMessage = std::function<bool()>;
  using Tell = std::function<void(const TurnNews&)>;

  // `has_message` (whether a message waits for the worker) and `tell` are called on our thread.
  // `count` outlives us.
  TurnWatch(TurnCount& count, Duration limit, HasMessage has_message, Tell tell);
  ~TurnWatch();
  TurnWatch(const TurnWatch&) = delete;
  TurnWatch& operator=(const TurnWatch&) = delete;

  const TurnState& state() const { return state_; }

 private:
  void run();
  bool wait_for_look();
  void look(Instant now);
  bool is_due() const { return !count_.asleep() || has_message_(); }

  TurnCount& count_;
  const HasMessage has_message_;
  const Tell tell_;
  TurnJudge judge_;
  TurnState state_;
  bool is_watching_ = false;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool ending_ = false;
  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace paravane::worker
