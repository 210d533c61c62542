// NetworkWatch: makes events of what has changed about switches and port groups, by
// whomever.
//
// Control thread only.

#pragma once

#include <vector>

#include "control/distributed_switch.h"
#include "control/event.h"

namespace paravane::host {

class NetworkWatch {
 public:
  // What is there when it begins is no news.
  void begin(const control::Network& network) { seen_ = network; }
  std::vector<control::Event> look(const control::Network& network);

 private:
  control::Network seen_;
};

}  // namespace paravane::host
