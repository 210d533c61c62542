// MetricsSnapshot holds all counters of this host at one moment, as plain values from which
// metrics/metrics_page.h prints the metrics page.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
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

// A distributed switch on this host.
struct SwitchMetrics {
  std::string name;
  std::uint64_t mended = 0;    // interfaces, since the daemon's start
  std::uint64_t problems = 0;  // now

  friend bool operator==(const SwitchMetrics&, const SwitchMetrics&) = default;
};

struct MetricsSnapshot {
  model::DaemonStatus status;
  std::uint64_t max_vms = 0;
  std::vector<VmMetrics> vms{};
  std::vector<worker::MetricGroup> groups{};  // of what the VMs share
  std::vector<SwitchMetrics> switches{};      // that this host is in
};

// The interface that supplies snapshots. Any thread; calls return in bounded time.
class MetricsSource {
 public:
  virtual ~MetricsSource() = default;
  // Calls within a second return the same snapshot. Errors: kBusy.
  virtual model::ApiResult<std::shared_ptr<const MetricsSnapshot>> metrics() = 0;
};

}  // namespace paravane::metrics
