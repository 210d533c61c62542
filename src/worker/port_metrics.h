// Collects the metrics of a port (an adapter as the worker sees it) as plain values, for other
// threads.
//
// Worker thread only.

#pragma once

#include "worker/adapter_counts.h"
#include "worker/port_report.h"

namespace paravane::worker {

// All metrics except those of queue pairs, because there may be many of these.
AdapterMetrics report_metrics(VmPort& port, const PathReasons& reasons);

// A part of an adapter's queue pairs, in the order of their handles, small enough for one turn of
// the worker.
struct QpSlice {
  static constexpr std::uint32_t kHandles = 64;
  std::vector<model::QpStats> queue_pairs{};
  std::uint32_t next = 0;  // the first handle of the next slice; 0: there are no more
};
QpSlice report_qps(VmPort& port, std::uint32_t first, const PathReasons& reasons);

}  // namespace paravane::worker
