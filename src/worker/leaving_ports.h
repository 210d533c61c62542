// LeavingPorts: removed adapters that still have objects to destroy. They share the turns of one
// tenant, so removing the adapter of a guest with many objects costs other VMs no more than the
// guest did before.
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
