// MetricsSnapshot: what is counted on this host at one moment, as plain values on their
// way to a page of metrics (daemon/metrics_page.h).

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/api_error.h"
#include "control/stats.h"
#include "control/vm.h"

namespace paravane::daemon {

// Counters that become metrics by themselves: paravane_PREFIX_NAME, with these labels.
struct MetricGroup {
  std::string prefix;
  std::vector<std::pair<std::string, std::string>> labels{};
  std::vector<control::CounterValue> counters{};
};

// What an adapter holds, and may hold.
struct ObjectUse {
  std::string kind;
  std::uint64_t held = 0;
  std::uint64_t limit = 0;
};

struct PathConnections {
  std::string path;
  std::string host;  // empty: this one
  std::uint64_t connections = 0;
};

// One adapter whose port is there.
struct AdapterMetrics {
  std::vector<control::CounterGroup> groups{};
  std::vector<ObjectUse> objects{};
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_limit_bytes = 0;
  std::uint64_t page_list_bytes = 0;
  std::uint64_t page_list_limit_bytes = 0;
  std::vector<PathConnections> paths{};
  std::vector<control::QpStats> queue_pairs{};  // that have series of their own
  control::QpStats other_queue_pairs{};         // what all others did
  std::uint64_t other_count = 0;
};

struct VmMetrics {
  control::VmStatus status;
  std::vector<std::optional<AdapterMetrics>> adapters{};  // as status.adapters; nullopt: failed
};

struct MetricsSnapshot {
  control::DaemonStatus status;
  std::uint64_t max_vms = 0;
  std::vector<VmMetrics> vms{};
  std::vector<MetricGroup> groups{};  // of what the VMs share
};

// Where snapshots come from. Any thread; in bounded time.
class MetricsSource {
 public:
  virtual ~MetricsSource() = default;
  // Shared: askers within a second get the same one. Errors: kBusy.
  virtual control::ApiResult<std::shared_ptr<const MetricsSnapshot>> metrics() = 0;
};

}  // namespace paravane::daemon
