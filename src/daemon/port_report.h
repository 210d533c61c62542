// What a port has to say about itself, as plain values for other threads.
//
// Worker thread only.

#pragma once

#include <string>

#include "base/counter.h"
#include "control/stats.h"
#include "daemon/port_table.h"
#include "daemon/vm_port.h"

namespace paravane::daemon {

PortState report_state(VmPort& port);
control::VmStats report_stats(VmPort& port);
control::CounterGroup report_counters(std::string name, const CounterSet& set);

}  // namespace paravane::daemon
