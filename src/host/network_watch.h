// NetworkWatch: reports changes of switches and port groups as events, whatever caused them.
//
// Control thread only.

#pragma once

#include <vector>

#include "model/distributed_switch.h"
#include "model/event.h"

namespace paravane::host {

class NetworkWatch {
 public:
  // What is there when it begins is no news.
  void begin(const model::Network& network) { seen_ = network; }
  std::vector<model::Event> look(const model::Network& network);

 private:
  model::Network seen_;
};

}  // namespace paravane::host
