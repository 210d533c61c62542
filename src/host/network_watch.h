// NetworkWatch compares the switches and port groups with those at the previous call, and returns
// an event for each change. The change can come from an operator of this host or from another host.
//
// Control thread only.

#pragma once

#include <vector>

#include "model/distributed_switch.h"
#include "model/event.h"

namespace paravane::host {

class NetworkWatch {
 public:
  // Sets the state to compare with; it causes no events.
  void begin(const model::Network& network) { seen_ = network; }
  std::vector<model::Event> look(const model::Network& network);

 private:
  model::Network seen_;
};

}  // namespace paravane::host
