// NetworkWatch compares the switches and port groups with those at the last call and returns an
// event for each change, whether an operator or another host made it.
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
