#include "metrics/metrics_page.h"

#include <fmt/core.h>

#include <string_view>

#include "metrics/family_set.h"
#include "metrics/metrics_infiniband.h"

namespace paravane::metrics {
namespace {

constexpr double kMicro = 1e-6;

double number(std::uint64_t value) {
  return static_cast<double>(value);
}

// A Counter of ours as a metric. Those in microseconds become seconds, and "the longest"
// is no counter.
void add_counter(const std::string& prefix, const model::CounterValue& counter,
                 const MetricLabels& labels, FamilySet& families) {
  std::string_view name = counter.name;
  if (name.starts_with(prefix + "_")) name.remove_prefix(prefix.size() + 1);
  const bool is_time = name.ends_with("_us");
  if (is_time) name.remove_suffix(3);
  const std::string base = fmt::format("paravane_{}_{}{}", prefix, name, is_time ? "_seconds" : "");
  std::string help = counter.help;
  if (const auto at = help.find("microseconds"); at != std::string::npos) {
    help.replace(at, std::string_view("microseconds").size(), "seconds");
  }
  const double value = number(counter.value) * (is_time ? kMicro : 1);
  if (name.starts_with("longest")) {
    families.gauge(base, help, labels, value);
  } else {
    families.counter(base + "_total", help, labels, value);
  }
}

void add_queue_pair(const model::QpStats& qp, const MetricLabels& labels, FamilySet& families) {
  const auto add = [&](const char* name, const char* help, std::uint64_t value) {
    families.counter(fmt::format("paravane_qp_{}_total", name), help, labels, number(value));
  };
  add("sends", "Send requests completed", qp.sends);
  add("receives", "Requests executed for peers", qp.receives);
  add("sent_bytes", "Payload bytes sent or written", qp.sent_bytes);
  add("received_bytes", "Payload bytes placed for peers", qp.received_bytes);
  add("errors", "Requests completed with an error", qp.errors);
  add("rnr_waits", "RNR NAKs received from peers", qp.rnr_waits);
  add("retries", "Requests retried after a response timeout", qp.retries);
}

void add_queue_pairs(const worker::AdapterMetrics& adapter, const MetricLabels& labels,
                     FamilySet& families) {
  const auto with = [&labels](const std::string& qp) {
    MetricLabels all = labels;
    all.emplace_back("qp", qp);
    return all;
  };
  for (const model::QpStats& qp : adapter.queue_pairs) {
    const MetricLabels one = with(std::to_string(qp.number));
    add_queue_pair(qp, one, families);
    MetricLabels info = one;
    info.insert(info.end(), {{"type", qp.type},
                             {"path", qp.path},
                             {"peer_gid", qp.peer_gid},
                             {"peer_host", qp.peer_host},
                             {"reason", qp.why}});
    families.gauge("paravane_qp_info", "Description of a queue pair; the value is always 1", info,
                   1);
  }
  add_queue_pair(adapter.other_queue_pairs, with("other"), families);
  families.gauge("paravane_adapter_other_queue_pairs",
                 "Queue pairs with traffic that are counted together as qp=\"other\"", labels,
                 number(adapter.other_count));
}

void add_adapter(const worker::AdapterMetrics& adapter, const MetricLabels& labels,
                 FamilySet& families) {
  const auto with = [&labels](std::initializer_list<MetricLabels::value_type> more) {
    MetricLabels all = labels;
    all.insert(all.end(), more);
    return all;
  };
  for (const model::CounterGroup& group : adapter.groups) {
    for (const model::CounterValue& counter : group.counters) {
      add_counter(group.name, counter, labels, families);
    }
  }
  for (const worker::ObjectUse& object : adapter.objects) {
    const MetricLabels kind = with({{"kind", object.kind}});
    families.gauge("paravane_adapter_objects", "Objects held by the guest", kind,
                   number(object.held));
    families.gauge("paravane_adapter_objects_limit", "Maximum number of objects of the guest", kind,
                   number(object.limit));
  }
  families.gauge("paravane_adapter_memory_bytes", "Guest memory mapped", labels,
                 number(adapter.memory_bytes));
  families.gauge("paravane_adapter_memory_limit_bytes", "Maximum guest memory that can be mapped",
                 labels, number(adapter.memory_limit_bytes));
  families.gauge("paravane_adapter_page_list_bytes", "Size of the lists of registered pages",
                 labels, number(adapter.page_list_bytes));
  families.gauge("paravane_adapter_page_list_limit_bytes",
                 "Maximum size of the lists of registered pages", labels,
                 number(adapter.page_list_limit_bytes));
  families.gauge("paravane_adapter_roce_open",
                 "Whether the adapter reaches native RoCE endpoints, and why not",
                 with({{"reason", adapter.roce_closed}}), adapter.roce_open ? 1 : 0);
  for (const auto& [state, ways] : adapter.routed_ways) {
    families.gauge("paravane_adapter_routed_ways",
                   "Ways through routers that connections use, by what probes say of them",
                   with({{"state", state}}), number(ways));
  }
  for (const auto& [path, connections] : adapter.paths) {
    families.gauge("paravane_path_connections", "Connections that use a path",
                   with({{"path", path.path}, {"peer_host", path.host}}), number(connections));
  }
  add_queue_pairs(adapter, labels, families);
}

void add_vm(const VmMetrics& vm, FamilySet& families) {
  const model::VmSpec& spec = vm.status.spec;
  families.gauge("paravane_vm_info", "Description of a VM; the value is always 1",
                 {{"vm", spec.name}, {"hw_version", std::to_string(spec.hw_version)}}, 1);
  for (std::size_t i = 0; i < spec.adapters.size(); ++i) {
    const model::AdapterSpec& adapter = spec.adapters[i];
    const model::VmState state = vm.status.adapters[i].state;
    const MetricLabels labels = {{"vm", spec.name}, {"adapter", std::to_string(adapter.number)}};
    families.gauge("paravane_adapter_attached", "Whether a VMM is attached", labels,
                   model::has_vmm(state));
    families.gauge("paravane_adapter_active", "Whether the guest's driver is running", labels,
                   state == model::VmState::kActive);
    families.gauge("paravane_adapter_failed", "Whether creation of the adapter failed", labels,
                   state == model::VmState::kFailed);
    families.gauge("paravane_adapter_dead",
                   "Whether the guest goes on without having configured the adapter", labels,
                   state == model::VmState::kDead);
    families.gauge("paravane_adapter_lost",
                   "Whether the guest's RDMA objects ended with an engine that was killed", labels,
                   state == model::VmState::kLost);
    families.gauge("paravane_adapter_connected", "Whether the adapter is connected to the switch",
                   labels, adapter.connected);
    add_infiniband(vm, i, families);
    if (i < vm.adapters.size() && vm.adapters[i]) add_adapter(*vm.adapters[i], labels, families);
  }
}

void add_daemon(const MetricsPageParts& parts, FamilySet& families) {
  const model::DaemonStatus& status = parts.snapshot.status;
  families.gauge("paravane_daemon_info", "Description of the daemon; the value is always 1",
                 {{"version", status.version}, {"host", status.host}, {"boot", parts.boot}}, 1);
  families.gauge("paravane_daemon_uptime_seconds", "Time since the daemon's start", {},
                 number(status.uptime_seconds));
  families.gauge("paravane_vms", "Number of VMs", {}, number(status.vms));
  families.gauge("paravane_vms_limit", "Maximum number of VMs", {}, number(parts.snapshot.max_vms));
  families.gauge("paravane_vms_attached", "VMs with a VMM attached", {}, number(status.attached));
  families.gauge("paravane_left_out", "Stored objects that are damaged and unusable", {},
                 number(status.left_out.size()));
  families.gauge("paravane_impairments", "Active impairments", {}, number(status.impairments));
  for (const auto& [code, count] : parts.api_requests) {
    families.counter("paravane_api_requests_total", "Requests answered",
                     {{"code", std::to_string(code)}}, number(count));
  }
  for (std::size_t i = 0; i < model::kSeverities; ++i) {
    families.counter("paravane_events_total", "Events written to the event log",
                     {{"severity", std::string(model::to_string(static_cast<model::Severity>(i)))}},
                     number(parts.events.by_severity.at(i)));
  }
  families.counter("paravane_events_dropped_total", "Events discarded to make room for newer ones",
                   {}, number(parts.events.dropped));
}

void add_switches(const std::vector<SwitchMetrics>& switches, FamilySet& families) {
  for (const SwitchMetrics& vds : switches) {
    families.counter("paravane_switch_mended_total",
                     "Interfaces of a switch that were changed by other programs and repaired",
                     {{"switch", vds.name}}, number(vds.mended));
    families.counter("paravane_switch_failovers_total",
                     "Times another uplink of a team took over the frames of a switch",
                     {{"switch", vds.name}}, number(vds.failovers));
    families.gauge("paravane_switch_problems", "Problems of a switch on this host",
                   {{"switch", vds.name}}, number(vds.problems));
  }
}

void add_subnet(const MetricsSnapshot& snapshot, FamilySet& families) {
  for (const IbPortMetrics& port : snapshot.ib_ports) {
    const MetricLabels labels = {{"adapter", port.adapter}, {"port", std::to_string(port.port)}};
    families.gauge("paravane_infiniband_port_active",
                   "Whether a port of a virtual InfiniBand adapter is Active", labels,
                   port.is_active);
    families.gauge(
        "paravane_infiniband_port_manager",
        "Whether a program at a port of a virtual InfiniBand adapter is a subnet manager", labels,
        port.has_manager);
  }
  for (const CableMetrics& cable : snapshot.cables)
    families.gauge("paravane_infiniband_cable_up",
                   "Whether the link of the cable to a host's InfiniBand switch is up",
                   {{"host", cable.host}}, cable.is_up);
}

void add_cluster(const model::ClusterStatus& cluster, FamilySet& families) {
  families.gauge("paravane_cluster_member", "Whether this host is in a cluster", {},
                 cluster.member);
  families.gauge("paravane_cluster_damaged", "Whether a file of the cluster is unusable", {},
                 !cluster.damage.empty());
  if (!cluster.member) return;
  families.gauge("paravane_cluster_connected", "Whether the cluster's inventory is reachable", {},
                 cluster.connected);
  families.gauge("paravane_cluster_certificate_left_seconds",
                 "Time until this host's certificate expires", {},
                 number(cluster.certificate_left_s));
  families.gauge("paravane_cluster_lost_claims", "Claims of this host that lost to another host's",
                 {}, number(cluster.lost.size()));
  families.gauge("paravane_cluster_odd_keys", "Invalid keys in the inventory", {},
                 number(cluster.odd_keys));
  for (const model::ClusterHost& host : cluster.hosts) {
    const MetricLabels labels = {{"host", host.name}};
    families.gauge("paravane_cluster_host_present", "Whether a host is present", labels,
                   host.present);
    families.gauge("paravane_cluster_host_adapters", "Adapters of a host", labels,
                   number(host.adapters));
    families.gauge("paravane_cluster_host_gids", "Addresses (GIDs) of a host", labels,
                   number(host.gids));
    if (host.channel.empty()) continue;
    families.gauge("paravane_channel_up", "Whether a channel to a host is open", labels,
                   host.channel != "none");
  }
}

}  // namespace

std::string print_metrics(const MetricsPageParts& parts) {
  FamilySet families;
  add_daemon(parts, families);
  add_switches(parts.snapshot.switches, families);
  add_subnet(parts.snapshot, families);
  add_cluster(parts.cluster, families);
  for (const worker::MetricGroup& group : parts.snapshot.groups) {
    for (const model::CounterValue& counter : group.counters) {
      add_counter(group.prefix, counter, group.labels, families);
    }
  }
  for (const VmMetrics& vm : parts.snapshot.vms) add_vm(vm, families);
  return families.print();
}

std::string print_turns(const worker::TurnState& turns) {
  FamilySet families;
  families.gauge("paravane_worker_held", "Whether the worker has been stuck for 5 s or longer", {},
                 turns.is_held ? 1 : 0);
  families.counter("paravane_worker_holds_total", "Times the worker was stuck for 5 s or longer",
                   {}, number(turns.holds));
  return families.print();
}

}  // namespace paravane::metrics
