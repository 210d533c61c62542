// FakeTenant is a tenant of a worker for tests. A test sets what it returns, and the function that
// its turns call.
//
// One thread, unless the test says otherwise.

#pragma once

#include <functional>

#include "worker/tenant.h"

namespace paravane::worker {

class FakeTenant final : public Tenant {
 public:
  bool has_work() const override { return busy; }
  Instant next_look() override { return due; }
  bool turn(Instant now, verbs::Budget& budget) override {
    ++turns;
    last_budget = budget;
    return on_turn ? on_turn(now, budget) : true;
  }

  bool busy = false;
  Instant due = kNever;
  std::function<bool(Instant, verbs::Budget&)> on_turn;
  unsigned turns = 0;
  verbs::Budget last_budget;
};

}  // namespace paravane::worker
