// Reports the state and the counters of a port (an adapter as the worker sees it) as plain values,
// for other threads.
//
// Worker thread only.

#pragma once

#include <string>
#include <vector>

#include "base/counter.h"
#include "model/stats.h"
#include "worker/path_reasons.h"
#include "worker/port_table.h"
#include "worker/vm_port.h"

namespace paravane::worker {

std::string format_gid(const verbs::Gid& gid);
PortState report_state(VmPort& port);
model::VmStats report_stats(VmPort& port, const PathReasons& reasons);
// The counters of the parts of the port; those of its RoCE port while it is open.
std::vector<model::CounterGroup> report_groups(VmPort& port);
model::QpStats report_qp(const VmPort& port, const device::QueuePairView& qp,
                         const PathReasons& reasons);
model::CounterGroup report_counters(std::string name, const CounterSet& set);

}  // namespace paravane::worker
