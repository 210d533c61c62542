#include "worker/port_metrics.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace paravane::worker {
namespace {

using transport_roce::ProbeState;

// The states that a way can have, so that each has its series from the beginning.
constexpr std::array kWayStates{std::pair(ProbeState::kAwaited, "awaited"),
                                std::pair(ProbeState::kAnswered, "answered"),
                                std::pair(ProbeState::kUnanswered, "unanswered")};

void count_routed_ways(const VmPort& port, AdapterMetrics& metrics) {
  const std::vector<transport_roce::ProbeReport> probes = port.probes();
  for (const auto& [state, name] : kWayStates) {
    metrics.routed_ways[name] = static_cast<std::uint64_t>(
        std::ranges::count(probes, state, &transport_roce::ProbeReport::state));
  }
}

}  // namespace

AdapterMetrics report_metrics(VmPort& port, const PathReasons& reasons) {
  const device::DeviceObjects held = port.device().objects();
  const device::DeviceLimits& limits = port.config().device.limits;
  const GuestMemory::Usage memory = port.memory().usage();
  AdapterMetrics metrics{
      .groups = report_groups(port),
      .objects = {{"contexts", held.contexts, limits.contexts},
                  {"protection_domains", held.protection_domains, limits.protection_domains},
                  {"memory_regions", held.memory_regions, limits.memory_regions},
                  {"completion_queues", held.completion_queues, limits.completion_queues},
                  {"shared_receive_queues", held.shared_receive_queues,
                   limits.shared_receive_queues},
                  {"queue_pairs", held.queue_pairs, limits.queue_pairs},
                  {"gids", held.gids, limits.gids}},
      .memory_bytes = memory.mapped_file_bytes,
      .memory_limit_bytes = port.config().memory.bytes,
      .page_list_bytes = memory.page_list_bytes,
      .page_list_limit_bytes = port.memory().page_list_quota(),
      .roce_open = port.door() != nullptr,
      .roce_closed = port.door() != nullptr ? std::string() : port.roce_closed()};
  count_routed_ways(port, metrics);
  for (const auto& [way, connections] : port.device().adapter().path_use().counts()) {
    const std::string host = way.host == verbs::HostId{} ? "" : reasons.host(way.host).name;
    metrics.paths[{std::string(way.transport->name()), host}] += connections;
  }
  return metrics;
}

QpSlice report_qps(VmPort& port, std::uint32_t first, const PathReasons& reasons) {
  QpSlice slice;
  for (const auto& view : port.device().queue_pairs(first, QpSlice::kHandles)) {
    slice.queue_pairs.push_back(report_qp(port, view, reasons));
  }
  const std::uint32_t next = first + QpSlice::kHandles;
  if (next < port.device().queue_pair_span()) slice.next = next;
  return slice;
}

}  // namespace paravane::worker
