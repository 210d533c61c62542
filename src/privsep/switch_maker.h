// SwitchMaker is the interface for creating the distributed switches on this host from a plan. The
// keeper, the privileged process, creates them. The engine, the unprivileged process, uses an
// implementation that sends the plan to the keeper (switch_line.h).
//
// Calls block for a bounded time.

#pragma once

#include "privsep/switch_plan.h"

namespace paravane::privsep {

class SwitchMaker {
 public:
  virtual ~SwitchMaker() = default;

  // Creates what the plan describes and removes what an earlier plan described and this one does
  // not. It can be called repeatedly and repairs any difference from the plan. The report lists
  // what failed and what was repaired.
  virtual SwitchReport make(const SwitchPlan& plan) = 0;
};

}  // namespace paravane::privsep
