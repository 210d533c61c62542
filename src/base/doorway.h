// Doorway: watches a listening socket in an event loop and passes each accepted client to a
// callback.
//
// If clients cannot be accepted because the process is out of descriptors, the doorway pauses
// before it tries again, and logs the failure at a limited rate. It can also keep one descriptor in
// reserve. With that descriptor it accepts the waiting clients one at a time, so that each can be
// sent the reason before its connection is closed.
//
// The thread of the event loop only.

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
  static constexpr int kToldAtOnce = 16;  // clients that are told before a pause

  // `client` is connected and non-blocking.
  using OnClient = std::function<void(UniqueFd client)>;
  using Clock = std::function<Instant()>;
  using Accept = std::function<Result<std::optional<UniqueFd>>(int listener)>;

  // `name` begins log lines. `loop` and `timers` outlive us; the owner runs the timers, by `clock`.
  Doorway(EventLoop& loop, TimerQueue& timers, std::string name, OnClient on_client,
          Clock clock = std::chrono::steady_clock::now, Accept accept = accept_client);
  ~Doorway();
  Doorway(const Doorway&) = delete;
  Doorway& operator=(const Doorway&) = delete;

  // Replaces the previous listener. `listener` is a listening, non-blocking socket; if it is empty,
  // no clients are accepted. Errors: kIo.
  Status open(UniqueFd listener);
  // Accepts no clients until it is called with false; they wait in the socket's backlog. Errors:
  // kIo.
  Status hold(bool held);
  // The listening socket; borrowed. -1: the door does not listen.
  int listener() const { return listener_.get(); }
  // Keeps a descriptor in reserve from now on. A client that could not be accepted otherwise is
  // accepted with it and passed to `refuse`, which must tell the client the reason and close it
  // before it returns.
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
  OnClient refuse_;  // empty: clients are not told the reason
  ReserveDescriptor reserve_;
  LimitedLog complaints_;
};

}  // namespace paravane
