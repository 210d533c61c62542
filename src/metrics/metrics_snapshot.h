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
  std::uint64_t mended = 0;     // interfaces, since the daemon's start
  std::uint64_t problems = 0;   // now
  std::uint64_t failovers = 0;  // of its uplinks, since the daemon's start

  friend bool operator==(const SwitchMetrics&, const SwitchMetrics&) = default;
};

// An InfiniBand port of a virtual adapter of this host.
struct IbPortMetrics {
  std::string adapter;
  std::uint32_t port = 0;
  bool is_active = false;
  bool has_manager = false;  // a program there is a subnet manager
};

// The cable to another host of the InfiniBand subnet.
struct CableMetrics {
  std::string host;
  bool is_up = false;
};

struct MetricsSnapshot {
  model::DaemonStatus status;
  std::uint64_t max_vms = 0;
  std::vector<VmMetrics> vms{};
  std::vector<worker::MetricGroup> groups{};  // of what the VMs share
  std::vector<SwitchMetrics> switches{};      // that this host is in
  // Empty, too, if the subnet's thread did not answer.
  std::vector<IbPortMetrics> ib_ports{};
  std::vector<CableMetrics> cables{};
};

// The interface that supplies snapshots. Any thread; calls return in bounded time.
class MetricsSource {
 public:
  virtual ~MetricsSource() = default;
  // Calls within a second return the same snapshot. Errors: kBusy.
  virtual model::ApiResult<std::shared_ptr<const MetricsSnapshot>> metrics() = 0;
};

}  // namespace paravane::metrics
