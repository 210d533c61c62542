// LeavingPorts: adapters that were removed and still have something to bury. They take
// turns as one tenant, so that a guest that had much costs the others no more when its
// adapter is removed than it did before.
//
// Worker thread only.

#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "worker/tenant.h"
#include "worker/vm_port.h"

namespace paravane::worker {

class LeavingPorts final : public Tenant {
 public:
  // The adapter's number may be used again.
  using OnLeft = std::function<void(verbs::AdapterId id)>;

  explicit LeavingPorts(OnLeft on_left) : on_left_(std::move(on_left)) {}

  // REQUIRES: no schedule and no loop knows the port any more. One that has nothing to
  // bury is gone at once.
  void add(std::unique_ptr<VmPort> port);

  // ---- Tenant ----
  bool has_work() const override { return !ports_.empty(); }
  Instant next_look() override { return kNever; }
  bool turn(Instant now, verbs::Budget& budget) override;

 private:
  void drop_first();

  OnLeft on_left_;
  std::deque<std::unique_ptr<VmPort>> ports_;
};

}  // namespace paravane::worker
