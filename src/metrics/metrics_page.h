// Prints the metrics page that Prometheus scrapes. docs/metrics.md describes its contents.

#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "api/event_log.h"
#include "metrics/metrics_snapshot.h"
#include "model/cluster.h"
#include "worker/turn_watch.h"

namespace paravane::metrics {

inline constexpr const char* kMetricsPath = "/metrics";
inline constexpr const char* kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

struct MetricsPageParts {
  const MetricsSnapshot& snapshot;
  const model::ClusterStatus& cluster;
  const api::EventLog::Totals& events;
  std::string boot;                                  // of the event log
  const std::map<int, std::uint64_t>& api_requests;  // by HTTP status
};
std::string print_metrics(const MetricsPageParts& parts);
// The only part of the page that is available while the worker thread is stuck, because the rest
// comes from the worker.
std::string print_turns(const worker::TurnState& turns);

}  // namespace paravane::metrics
