// Collects the metrics of a port as plain values for other threads.
//
// Worker thread only.

#pragma once

#include "worker/adapter_counts.h"
#include "worker/port_report.h"

namespace paravane::worker {

// But for its queue pairs: they may be many.
AdapterMetrics report_metrics(VmPort& port, const FindHost& find_host);

// A part of an adapter's queue pairs, by their handles: little enough for one turn.
struct QpSlice {
  static constexpr std::uint32_t kHandles = 64;
  std::vector<model::QpStats> queue_pairs{};
  std::uint32_t next = 0;  // ask for it next; 0: there are no more
};
QpSlice report_qps(VmPort& port, std::uint32_t first, const FindHost& find_host);

}  // namespace paravane::worker
