// ChannelTenant gives the TCP transport its share of the worker's time. The worker checks the
// transport's sockets too rarely for fast responses. For some time after the last message from a
// peer, ChannelTenant therefore polls the sockets in every round of the worker.
//
// Worker thread only.

#pragma once

#include <algorithm>

#include "base/turn_clock.h"
#include "transport/channel/channel_transport.h"
#include "worker/tenant.h"

namespace paravane::worker {

class ChannelTenant final : public Tenant {
 public:
  // `watch_for`: how long the sockets are polled after the last message.
  ChannelTenant(transport_channel::ChannelTransport& transport, const TurnClock& clock,
                Duration watch_for)
      : transport_(transport), clock_(clock), watch_for_(watch_for) {}

  bool has_work() const override { return transport_.has_work(); }
  Instant next_look() override {
    if (clock_.now < transport_.last_message() + watch_for_) return clock_.now;
    return transport_.next_look();
  }
  bool turn(Instant now, verbs::Budget& budget) override {
    if (now < transport_.last_message() + watch_for_) transport_.look_at_sockets();
    const verbs::Budget before = budget;
    transport_.poll(now, budget);
    return budget.bytes != before.bytes || budget.operations != before.operations;
  }

 private:
  transport_channel::ChannelTransport& transport_;
  const TurnClock& clock_;
  Duration watch_for_;
};

}  // namespace paravane::worker
