// Reports the uses of this host's RDMA devices: for trunks, which are channels over them, and as
// uplinks of distributed switches.
//
// Any thread.

#pragma once

#include <string>
#include <vector>

#include "model/distributed_switch.h"
#include "model/machine.h"
#include "worker/port_table.h"

namespace paravane::host {

// Fills in RdmaDevice::trunks and uplink_of. `host`: the name of this host.
void add_uses(const std::vector<worker::OpenTrunk>& trunks, const model::Network& network,
              const std::string& host, std::vector<model::RdmaDevice>& devices);

}  // namespace paravane::host
