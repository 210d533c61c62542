// Host: what is counted, gathered for a page of metrics. One question to the worker for
// each adapter, and for each few of its queue pairs, so that no turn gets long; askers
// within a second get the same answer.

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "host/host.h"
#include "host/refusals.h"
#include "worker/port_metrics.h"

namespace paravane::host {

using model::ApiResult;

namespace {

constexpr Duration kFresh = std::chrono::seconds(1);

}  // namespace

model::ApiResult<std::shared_ptr<const metrics::MetricsSnapshot>> Host::metrics() {
  const Instant now = std::chrono::steady_clock::now();
  if (snapshot_ && now - snapshot_at_ < kFresh) return snapshot_;
  auto gathered = gather_metrics(now);
  if (!gathered) return std::unexpected(gathered.error());
  snapshot_ = std::make_shared<const metrics::MetricsSnapshot>(std::move(*gathered));
  snapshot_at_ = std::chrono::steady_clock::now();
  return snapshot_;
}

model::ApiResult<metrics::MetricsSnapshot> Host::gather_metrics(Instant now) {
  const auto its_status = status();
  if (!its_status) return std::unexpected(its_status.error());
  const auto its_states = states();
  if (!its_states) return std::unexpected(its_states.error());
  auto groups = worker_->ask([this] { return ports_->shared_metrics(); });
  if (!groups) return worker_is_busy();
  metrics::MetricsSnapshot snapshot{.status = *its_status,
                                    .max_vms = config_.config.vfio_user.max_vms,
                                    .vms = {},
                                    .groups = std::move(*groups),
                                    .switches = network_->metrics()};
  std::set<model::AdapterName> there;
  for (const auto& [name, vm] : vms_) {
    metrics::VmMetrics& metrics =
        snapshot.vms.emplace_back(metrics::VmMetrics{.status = status_of(vm, *its_states)});
    for (const model::AdapterSpec& adapter : vm.spec.adapters) {
      const model::AdapterName port{name, adapter.number};
      there.insert(port);
      auto one = gather_adapter(port, now);
      if (!one) return std::unexpected(one.error());
      metrics.adapters.push_back(std::move(*one));
    }
  }
  std::erase_if(qp_series_, [&there](const auto& entry) { return !there.contains(entry.first); });
  gather_subnet(snapshot);
  return snapshot;
}

// Its thread, which no VM waits for, costs the page no more than its own part.
void Host::gather_subnet(metrics::MetricsSnapshot& snapshot) {
  using Of = subnet_host::LinkNews::Of;
  const auto states = infiniband_->link_states();
  if (!states) return;
  std::map<std::pair<std::string, std::uint32_t>, metrics::IbPortMetrics> ports;
  for (const subnet_host::LinkNews& state : *states) {
    if (state.of == Of::kCable) {
      snapshot.cables.push_back({.host = state.name, .is_up = state.is_up});
      continue;
    }
    metrics::IbPortMetrics& port = ports[{state.name, state.port}];
    port.adapter = state.name;
    port.port = state.port;
    (state.of == Of::kPort ? port.is_active : port.has_manager) = state.is_up;
  }
  for (auto& [place, port] : ports) snapshot.ib_ports.push_back(std::move(port));
}

model::ApiResult<std::optional<worker::AdapterMetrics>> Host::gather_adapter(
    const model::AdapterName& port, Instant now) {
  auto answer = worker_->ask([this, port] { return ports_->metrics(port); });
  if (!answer) return worker_is_busy();
  if (!*answer) return std::optional<worker::AdapterMetrics>();
  std::vector<model::QpStats> queue_pairs;
  std::uint32_t next = 0;
  do {
    auto slice = worker_->ask([this, port, next] { return ports_->queue_pairs(port, next); });
    if (!slice) return worker_is_busy();
    std::ranges::move(slice->queue_pairs, std::back_inserter(queue_pairs));
    next = slice->next;
  } while (next != 0);
  metrics::QpSeries& series =
      qp_series_.try_emplace(port, config_.config.metrics.queue_pairs).first->second;
  series.look(std::move(queue_pairs), now);
  worker::AdapterMetrics metrics = std::move(**answer);
  metrics.queue_pairs = series.shown();
  metrics.other_queue_pairs = series.other();
  metrics.other_count = series.other_count();
  return std::optional(std::move(metrics));
}

}  // namespace paravane::host
