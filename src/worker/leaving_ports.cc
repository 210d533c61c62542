#include "worker/leaving_ports.h"

#include <utility>

namespace paravane::worker {

void LeavingPorts::add(std::unique_ptr<VmPort> port) {
  port->leave();
  if (port->left()) {
    ports_.push_front(std::move(port));
    drop_first();
  } else {
    ports_.push_back(std::move(port));
  }
}

bool LeavingPorts::turn(Instant now, verbs::Budget& budget) {
  if (ports_.empty()) return false;
  VmPort& port = *ports_.front();
  port.turn(now, budget);
  if (port.left()) drop_first();
  return true;
}

void LeavingPorts::drop_first() {
  const verbs::AdapterId id = ports_.front()->id();
  ports_.pop_front();
  on_left_(id);
}

}  // namespace paravane::worker
