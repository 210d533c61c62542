// What an operator is told of an IPoIB uplink, as a value of model/infiniband.h.
//
// The subnet's thread only.

#pragma once

#include "model/infiniband.h"
#include "subnet/port.h"
#include "subnet_host/host_uplink.h"

namespace paravane::subnet_host {

// Adds to `status`, which has its names and its switch, what is known of its port. `uplink` null:
// it has no tap.
void add_status(const subnet::Port& port, const HostUplink* uplink, model::IbUplink& status);

}  // namespace paravane::subnet_host
