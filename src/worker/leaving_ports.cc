#include "worker/leaving_ports.h"

#include <utility>

#include "base/memory_shortage.h"

namespace paravane::worker {

void LeavingPorts::add(std::unique_ptr<VmPort> port) {
  port->leave();
  const verbs::AdapterId id = port->id();
  const bool waits = !port->left() && runs_in_memory([&] { ports_.push_back(std::move(port)); });
  if (waits) return;
  port.reset();  // or all of it in one turn, without memory for its turns
  on_left_(id);
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
