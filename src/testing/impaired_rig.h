// ImpairedRig: an EngineRig in which everything that its VMs send goes through an
// ImpairedTransport before the local path; nothing is set in it at first.
//
// Owner thread only.

#pragma once

#include "testing/engine_rig.h"
#include "transport/impaired/impaired_transport.h"

namespace paravane::fake {

class ImpairedRig : public EngineRig {
 public:
  explicit ImpairedRig(const transport_impaired::Impairment& impairment = {});
  ~ImpairedRig() override;

  transport_impaired::ImpairedTransport& impaired() { return impaired_; }

  // Nothing stands before the local path any more.
  void take_away();

  // As EngineRig's; delays pass as well.
  bool run(unsigned limit = 10'000);

 private:
  void turn_more(Instant now, verbs::Budget budget) override;
  bool more_work() const override { return impaired_.has_work(); }
  Instant next_due() const override { return impaired_.next_due(); }

  transport_impaired::ImpairedTransport impaired_;
};

// Everything is delayed.
struct DelayedRig : ImpairedRig {
  DelayedRig() : ImpairedRig({.delay = std::chrono::microseconds(20)}) {}
};

}  // namespace paravane::fake
