// RoceTenant gives the RoCE transport its share of the worker's time. The worker looks at its
// sockets too rarely for fast answers, so for some time after a frame from a native endpoint the
// ports are read in every round of the worker. While others flood a port, the worker does not even
// look at its socket.
//
// Worker thread only.

#pragma once

#include <functional>
#include <map>

#include "base/event_loop.h"
#include "base/timers.h"
#include "base/turn_clock.h"
#include "transport/roce/roce_transport.h"
#include "worker/tenant.h"

namespace paravane::worker {

class RoceTenant final : public Tenant {
 public:
  // `watch_for`: how long the ports are read after the last frame.
  // All outlive the tenant.
  RoceTenant(transport_roce::RoceTransport& transport, EventLoop& loop, const TurnClock& clock,
             Duration watch_for)
      : transport_(transport), loop_(loop), clock_(clock), watch_for_(watch_for) {}

  // Reads the port of an adapter when its door's descriptor has frames, until unwatch(). Calls
  // `on_gone` when the interface behind it was deleted, after unwatch(); it may close the
  // descriptor. Errors: as EventLoop::watch().
  Status watch(verbs::AdapterId id, int fd, std::function<void()> on_gone);
  void unwatch(int fd);

  bool has_work() const override { return readable_ || transport_.has_work(); }
  Instant next_look() override {
    if (clock_.now < transport_.last_frame() + watch_for_) return clock_.now;
    return timers_.next_deadline();
  }
  bool turn(Instant now, verbs::Budget& budget) override {
    readable_ = false;  // the worker's loop says so again while there is more
    timers_.run_due(now);
    const verbs::Budget before = budget;
    transport_.poll(now, budget);
    return budget.bytes != before.bytes || budget.operations != before.operations;
  }

 private:
  void on_readable(verbs::AdapterId id, int fd);

  transport_roce::RoceTransport& transport_;
  EventLoop& loop_;
  const TurnClock& clock_;
  Duration watch_for_;
  bool readable_ = false;
  TimerQueue timers_;
  std::map<int, TimerId> resting_;  // descriptors of ports that are flooded
};

}  // namespace paravane::worker
