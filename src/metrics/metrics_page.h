// Generates the metrics page for Prometheus. docs/metrics.md describes it.

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
// The part of a page that is there while the worker, which has all else, does not turn.
std::string print_turns(const worker::TurnState& turns);

}  // namespace paravane::metrics
