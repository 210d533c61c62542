// RecordingMaker: a SwitchMaker that keeps the plan, and answers with a report that a test writes.

#pragma once

#include "privsep/switch_maker.h"

namespace paravane::host {

class RecordingMaker final : public privsep::SwitchMaker {
 public:
  privsep::SwitchReport make(const privsep::SwitchPlan& plan) override {
    last = plan;
    ++times;
    return report;
  }
  privsep::SwitchPlan last;
  int times = 0;
  privsep::SwitchReport report;
};

}  // namespace paravane::host
