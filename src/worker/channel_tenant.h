// ChannelTenant: gives the TCP path its turns. While peers have just talked, it looks at
// their sockets in every round: the worker's loop looks less often than a message there
// and back takes.
//
// Worker thread only.

#pragma once

#include <algorithm>

#include "transport/tcp/tcp_transport.h"
#include "worker/tenant.h"

namespace paravane::worker {

class ChannelTenant final : public Tenant {
 public:
  // `watch_for`: how long after the last message.
  ChannelTenant(transport_tcp::TcpTransport& transport, Duration watch_for)
      : transport_(transport), watch_for_(watch_for) {}

  void set_now(Instant now) override { now_ = now; }
  bool has_work() const override { return transport_.has_work(); }
  Instant next_look() override {
    if (now_ < transport_.last_message() + watch_for_) return now_;
    return transport_.next_look();
  }
  bool turn(Instant now, verbs::Budget& budget) override {
    if (now < transport_.last_message() + watch_for_) transport_.look_at_sockets();
    const verbs::Budget before = budget;
    transport_.poll(now, budget);
    return budget.bytes != before.bytes || budget.operations != before.operations;
  }

 private:
  transport_tcp::TcpTransport& transport_;
  Duration watch_for_;
  Instant now_{};
};

}  // namespace paravane::worker
