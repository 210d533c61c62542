// Reports the state and the counters of a port (an adapter as the worker sees it) as plain values,
// for other threads.
//
// Worker thread only.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/counter.h"
#include "model/stats.h"
#include "worker/port_table.h"
#include "worker/vm_port.h"

namespace paravane::worker {

PortState report_state(VmPort& port);
// How another host is reached.
struct HostReport {
  std::string name;
  std::string problem;  // why there is no channel; empty: there is one
};
using FindHost = std::function<HostReport(verbs::HostId)>;
// Explains to an operator why a connection uses its path and not a better one; empty for a queue
// pair that is not connected. The order of paths, the best first, is local, hca, tcp.
std::string path_reason(const device::QueuePairView& qp, const HostReport& host);
model::VmStats report_stats(VmPort& port, const FindHost& find_host);
// The counters of the parts of the port.
std::vector<model::CounterGroup> report_groups(VmPort& port);
model::QpStats report_qp(const device::QueuePairView& qp, const FindHost& find_host);
model::CounterGroup report_counters(std::string name, const CounterSet& set);

}  // namespace paravane::worker
