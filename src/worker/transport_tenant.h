// TransportTenant gives a transport its share of the worker's time. The transport uses this time
// for messages that are too long for the turn (time slice) of the VM that sent them.
//
// Worker thread only.

#pragma once

#include "worker/tenant.h"

namespace paravane::worker {

class TransportTenant final : public Tenant {
 public:
  explicit TransportTenant(verbs::Transport& transport) : transport_(transport) {}

  bool has_work() const override { return transport_.has_work(); }
  Instant next_look() override { return kNever; }
  bool turn(Instant now, verbs::Budget& budget) override {
    transport_.poll(now, budget);
    return true;
  }

 private:
  verbs::Transport& transport_;
};

}  // namespace paravane::worker
