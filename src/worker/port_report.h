// Reports the state of a port as plain values for other threads.
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
// Why a connection takes its path and no better one, in an operator's words; empty for
// what is not connected. The order is local, hca, tcp.
std::string path_reason(const device::QueuePairView& qp, const HostReport& host);
model::VmStats report_stats(VmPort& port, const FindHost& find_host);
// Of its parts.
std::vector<model::CounterGroup> report_groups(VmPort& port);
model::QpStats report_qp(const device::QueuePairView& qp, const FindHost& find_host);
model::CounterGroup report_counters(std::string name, const CounterSet& set);

}  // namespace paravane::worker
