// Sample metrics of a host with one VM, in a cluster of two hosts.

#pragma once

#include "metrics/metrics_snapshot.h"
#include "model/cluster.h"

namespace paravane::metrics {

inline model::QpStats sample_qp(std::uint32_t number, std::uint64_t sent_bytes) {
  model::QpStats qp;
  qp.number = number;
  qp.type = "RC";
  qp.path = "local";
  qp.sent_bytes = sent_bytes;
  return qp;
}

inline MetricsSnapshot sample_metrics() {
  model::VmSpec spec;
  spec.name = "db1";
  worker::AdapterMetrics adapter{
      .groups = {{"engine",
                  {{"received_bytes", "payload bytes placed for peers", 1000},
                   {"fetched_bytes", "payload bytes that own reads brought", 7},
                   {"completion_errors", "requests completed with an error", 5},
                   {"receive_errors", "of them receives", 2}}},
                 {"share",
                  {{"busy_us", "worker time used, in microseconds", 1'500'000},
                   {"longest_turn_us", "longest time slice, in microseconds", 90}}}},
      .objects = {{"queue_pairs", 3, 16384}},
      .memory_bytes = 4096,
      .memory_limit_bytes = 1 << 20,
      .paths = {{{"local"}, 1}, {{"tcp", "h2"}, 2}},
      .queue_pairs = {sample_qp(2, 20)},
      .other_queue_pairs = sample_qp(0, 5),
      .other_count = 1};
  VmMetrics vm{.status = {.spec = spec, .adapters = {{.state = model::VmState::kActive}}}};
  vm.adapters.emplace_back(std::move(adapter));
  model::DaemonStatus status;
  status.version = "1";
  status.host = "h1";
  status.vms = status.attached = 1;
  return {.status = status,
          .max_vms = 256,
          .vms = {std::move(vm)},
          .groups = {{"worker", {}, {{"rounds", "rounds over all adapters and transports", 3}}},
                     {"channel", {{"host", "h2"}}, {{"sent_bytes", "payload bytes sent", 9}}}}};
}

inline model::ClusterStatus sample_cluster() {
  model::ClusterHost other;
  other.name = "h2";
  other.present = true;
  other.channel = "none";
  return {.member = true, .host = "h1", .connected = true, .hosts = {other}};
}

}  // namespace paravane::metrics
