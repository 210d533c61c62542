// Doorway: a listening socket in an event loop. It passes each accepted client to a callback.
// While clients cannot be accepted (out of descriptors), it pauses instead of spinning, and logs
// that at a limited rate. With a reserve descriptor, waiting clients are told the reason.
//
// Loop thread only.

#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/accept.h"
#include "base/event_loop.h"
#include "base/instant.h"
#include "base/limited_log.h"
#include "base/reserve_descriptor.h"
#include "base/result.h"
#include "base/timers.h"
#include "base/unique_fd.h"

namespace paravane {

class Doorway {
 public:
  static constexpr Duration kPause = std::chrono::milliseconds(100);
  static constexpr int kToldAtOnce = 16;  // clients, before a pause

  // Connected, and does not block.
  using OnClient = std::function<void(UniqueFd client)>;
  using Clock = std::function<Instant()>;
  using Accept = std::function<Result<std::optional<UniqueFd>>(int listener)>;

  // `name` begins log lines. `loop` and `timers` outlive us; the owner runs the timers, by `clock`.
  Doorway(EventLoop& loop, TimerQueue& timers, std::string name, OnClient on_client,
          Clock clock = std::chrono::steady_clock::now, Accept accept = accept_client);
  ~Doorway();
  Doorway(const Doorway&) = delete;
  Doorway& operator=(const Doorway&) = delete;

  // In place of the one before. `listener` listens and does not block; without one no client comes.
  // Errors: kIo.
  Status open(UniqueFd listener);
  // From now on keeps a descriptor back, by which a client that cannot be taken otherwise is
  // handed to `refuse`. It is to tell the client why and to close it before it returns.
  void keep_reserve(OnClient refuse);

 private:
  Status watch();
  void unwatch();
  void on_knock();
  void tell_those_who_wait();
  void pause(const Error& error);

  EventLoop& loop_;
  TimerQueue& timers_;
  const std::string name_;
  const OnClient on_client_;
  const Clock clock_;
  const Accept accept_;
  UniqueFd listener_;
  TimerId again_ = TimerId::kNone;
  OnClient refuse_;  // empty: clients are not told
  ReserveDescriptor reserve_;
  LimitedLog complaints_;
};

}  // namespace paravane
