// SwitchMaker: whoever makes the distributed switches on this host as a plan says: the
// keeper, and in the engine the line to it.
//
// Blocks for a bounded time.

#pragma once

#include <vector>

#include "privsep/switch_plan.h"

namespace paravane::privsep {

class SwitchMaker {
 public:
  virtual ~SwitchMaker() = default;

  // Makes it so, and removes what was made for an earlier plan and is not in this one.
  // Can be asked again and again: it mends what is not so. What went wrong is in the report.
  virtual SwitchReport make(const SwitchPlan& plan) = 0;

  // The addresses of the VMkernel interfaces of the last plan. Of the maker itself, not of
  // a line to it.
  virtual std::vector<Ipv4Interface> addresses() const { return {}; }
};

}  // namespace paravane::privsep
