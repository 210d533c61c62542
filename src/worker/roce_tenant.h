// RoceTenant gives the RoCE transport its share of the worker's time. The worker looks at its
// sockets too rarely for fast answers, so for some time after a frame from a native endpoint the
// ports are read in every round of the worker.
//
// Worker thread only.

#pragma once

#include "base/turn_clock.h"
#include "transport/roce/roce_transport.h"
#include "worker/tenant.h"

namespace paravane::worker {

class RoceTenant final : public Tenant {
 public:
  // `watch_for`: how long the ports are read after the last frame.
  RoceTenant(transport_roce::RoceTransport& transport, const TurnClock& clock, Duration watch_for)
      : transport_(transport), clock_(clock), watch_for_(watch_for) {}

  // A port has a frame.
  void on_readable() { readable_ = true; }

  bool has_work() const override { return readable_ || transport_.has_work(); }
  Instant next_look() override {
    return clock_.now < transport_.last_frame() + watch_for_ ? clock_.now : kNever;
  }
  bool turn(Instant now, verbs::Budget& budget) override {
    readable_ = false;  // the worker's loop says so again while there is more
    const verbs::Budget before = budget;
    transport_.poll(now, budget);
    return budget.bytes != before.bytes || budget.operations != before.operations;
  }

 private:
  transport_roce::RoceTransport& transport_;
  const TurnClock& clock_;
  Duration watch_for_;
  bool readable_ = false;
};

}  // namespace paravane::worker
