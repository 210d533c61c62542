// LeavingPorts holds removed adapters that still have objects to destroy. All of these adapters
// together get the worker time of one tenant. The removal of an adapter with many objects therefore
// does not take more time from other VMs than its guest took before.
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
  // Called when an adapter is destroyed completely, so that its id may be used again.
  using OnLeft = std::function<void(verbs::AdapterId id)>;

  explicit LeavingPorts(OnLeft on_left) : on_left_(std::move(on_left)) {}

  // Adds a port; if it has no objects to destroy, it is destroyed at once. REQUIRES: the port is in
  // no schedule and no event loop.
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
