// MetricsSnapshot: what is counted on this host at one moment, as plain values on their
// way to a page of metrics (metrics/metrics_page.h).

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "model/api_error.h"
#include "model/vm.h"
#include "worker/adapter_counts.h"

namespace paravane::metrics {

struct VmMetrics {
  model::VmStatus status;
  std::vector<std::optional<worker::AdapterMetrics>>
      adapters{};  // as status.adapters; nullopt: failed
};

struct MetricsSnapshot {
  model::DaemonStatus status;
  std::uint64_t max_vms = 0;
  std::vector<VmMetrics> vms{};
  std::vector<worker::MetricGroup> groups{};  // of what the VMs share
};

// Where snapshots come from. Any thread; in bounded time.
class MetricsSource {
 public:
  virtual ~MetricsSource() = default;
  // Shared: askers within a second get the same one. Errors: kBusy.
  virtual model::ApiResult<std::shared_ptr<const MetricsSnapshot>> metrics() = 0;
};

}  // namespace paravane::metrics
