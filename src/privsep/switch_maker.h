// SwitchMaker: the interface for creating the distributed switches on this host from a plan.
// Implemented by the keeper and, in the engine, by the line to the keeper.
//
// Blocks for a bounded time.

#pragma once

#include "privsep/switch_plan.h"

namespace paravane::privsep {

class SwitchMaker {
 public:
  virtual ~SwitchMaker() = default;

  // Makes it so, and removes what was made for an earlier plan and is not in this one.
  // Can be asked again and again: it mends what is not so. What went wrong is in the report, and
  // what was mended that was not so any more.
  virtual SwitchReport make(const SwitchPlan& plan) = 0;
};

}  // namespace paravane::privsep
