#include "worker/port_report.h"

#include <arpa/inet.h>

#include <array>
#include <string_view>
#include <utility>

#include "transport/impaired/impaired_transport.h"

namespace paravane::worker {
namespace {

using model::CounterGroup;

std::string_view type_name(verbs::QpType type) {
  switch (type) {
    case verbs::QpType::kReliableConnected: return "RC";
    case verbs::QpType::kUnreliableDatagram: return "UD";
    case verbs::QpType::kGeneralServices: return "GSI";
  }
  return "-";
}

std::string format_gid(const verbs::Gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET6, gid.raw.data(), text.data(), text.size()) != nullptr ? text.data()
                                                                                    : "?";
}

std::string explain_choice(const device::QueuePairView& qp, const HostReport& host) {
  if (!qp.peer_gid) return "";
  if (qp.path == "-") return "no adapter in this network has the peer's GID";
  if (qp.path == "roce") return "no adapter of the cluster has the peer's GID";
  if (qp.peer_host == verbs::HostId{}) return "same host";
  if (!host.problem.empty()) return "no channel: " + host.problem;
  return "hca: no usable adapter";
}

model::CounterGroup report_objects(VmPort& port) {
  const device::DeviceObjects held = port.device().objects();
  const GuestMemory::Usage memory = port.memory().usage();
  return {
      .name = "objects",
      .counters = {
          {"contexts", "user contexts: programs that have the device open", held.contexts},
          {"protection_domains", "protection domains", held.protection_domains},
          {"memory_regions", "memory regions", held.memory_regions},
          {"completion_queues", "completion queues", held.completion_queues},
          {"shared_receive_queues", "shared receive queues", held.shared_receive_queues},
          {"queue_pairs", "queue pairs", held.queue_pairs},
          {"gids", "addresses (GIDs) bound", held.gids},
          {"dma_ranges", "guest memory ranges", memory.ranges},
          {"memory_files", "guest memory files mapped", memory.files},
          {"memory_bytes", "guest memory bytes mapped", memory.mapped_file_bytes},
          {"page_list_bytes", "bytes used by lists of registered pages", memory.page_list_bytes},
      }};
}

}  // namespace

std::string path_reason(const device::QueuePairView& qp, const HostReport& host) {
  const std::string choice = explain_choice(qp, host);
  return qp.path.ends_with(transport_impaired::kNameSuffix) ? choice + "; impaired" : choice;
}

PortState report_state(VmPort& port) {
  if (!port.server().attached()) return {};
  return {.state = port.device().active() ? model::VmState::kActive : model::VmState::kAttached,
          .pid = port.server().peer_pid()};
}

model::CounterGroup report_counters(std::string name, const CounterSet& set) {
  model::CounterGroup group{.name = std::move(name), .counters = {}};
  for (const Counter* counter : set.all()) {
    group.counters.push_back({.name = std::string(counter->name()),
                              .help = std::string(counter->help()),
                              .value = counter->value()});
  }
  return group;
}

std::vector<model::CounterGroup> report_groups(VmPort& port) {
  return {report_counters("engine", port.device().adapter().counters().set),
          report_counters("device", port.device().counters().set),
          report_counters("vfio_user", port.server().counters().set),
          report_counters("share", port.turn_counters().set),
          report_counters("watch", port.watch().counters().set)};
}

model::QpStats report_qp(const device::QueuePairView& qp, const FindHost& find_host) {
  const bool remote = qp.peer_host != verbs::HostId{};
  const HostReport host = remote ? find_host(qp.peer_host) : HostReport{};
  return {.number = qp.number,
          .handle = qp.handle,
          .type = std::string(type_name(qp.type)),
          .state = std::string(verbs::to_string(qp.state)),
          .dest_qpn = qp.dest_qpn,
          .path = std::string(qp.path),
          .peer_gid = qp.peer_gid ? format_gid(*qp.peer_gid) : "",
          .peer_host = host.name,
          .why = path_reason(qp, host),
          .sends = qp.stats.sends,
          .receives = qp.stats.receives,
          .sent_bytes = qp.stats.sent_bytes,
          .received_bytes = qp.stats.received_bytes,
          .errors = qp.stats.errors,
          .rnr_waits = qp.stats.rnr_waits,
          .retries = qp.stats.retries};
}

model::VmStats report_stats(VmPort& port, const FindHost& find_host) {
  model::VmStats stats{.name = port.config().adapter.vm,
                       .adapter = port.config().adapter.number,
                       .groups = report_groups(port),
                       .objects = report_objects(port),
                       .queue_pairs = {}};
  for (const device::QueuePairView& qp : port.device().queue_pairs()) {
    stats.queue_pairs.push_back(report_qp(qp, find_host));
  }
  return stats;
}

}  // namespace paravane::worker
