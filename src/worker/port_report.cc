#include "worker/port_report.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

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

std::string format_gid(const verbs::Gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET6, gid.raw.data(), text.data(), text.size()) != nullptr ? text.data()
                                                                                    : "?";
}

PortState report_state(VmPort& port) {
  if (!port.server().attached()) return {};
  model::VmState state = model::VmState::kAttached;
  if (port.device().active()) state = model::VmState::kActive;
  if (port.device().lost()) state = model::VmState::kLost;
  if (port.server().configuration_lost()) state = model::VmState::kDead;
  return {.state = state, .pid = port.server().peer_pid()};
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
  std::vector<model::CounterGroup> groups{
      report_counters("engine", port.device().adapter().counters().set),
      report_counters("device", port.device().counters().set),
      report_counters("vfio_user", port.server().counters().set),
      report_counters("share", port.turn_counters().set),
      report_counters("watch", port.watch().counters().set)};
  if (port.door() == nullptr) return groups;
  model::CounterGroup roce = report_counters("roce", port.roce_counters()->set);
  model::CounterGroup tap = report_counters("roce", port.door()->counters().set);
  std::ranges::move(tap.counters, std::back_inserter(roce.counters));
  groups.push_back(std::move(roce));
  return groups;
}

model::QpStats report_qp(const VmPort& port, const device::QueuePairView& qp,
                         const PathReasons& reasons) {
  const bool remote = qp.peer_host != verbs::HostId{};
  return {.number = qp.number,
          .handle = qp.handle,
          .type = std::string(type_name(qp.type)),
          .state = std::string(verbs::to_string(qp.state)),
          .dest_qpn = qp.dest_qpn,
          .path = std::string(qp.path),
          .peer_gid = qp.peer_gid ? format_gid(*qp.peer_gid) : "",
          .peer_host = remote ? reasons.host(qp.peer_host).name : "",
          .why = reasons.why(port.id(), qp),
          .sends = qp.stats.sends,
          .receives = qp.stats.receives,
          .sent_bytes = qp.stats.sent_bytes,
          .received_bytes = qp.stats.received_bytes,
          .errors = qp.stats.errors,
          .rnr_waits = qp.stats.rnr_waits,
          .retries = qp.stats.retries};
}

model::VmStats report_stats(VmPort& port, const PathReasons& reasons) {
  model::VmStats stats{.name = port.config().adapter.vm,
                       .adapter = port.config().adapter.number,
                       .groups = report_groups(port),
                       .objects = report_objects(port),
                       .queue_pairs = {}};
  for (const device::QueuePairView& qp : port.device().queue_pairs()) {
    stats.queue_pairs.push_back(report_qp(port, qp, reasons));
  }
  return stats;
}

}  // namespace paravane::worker
