#include "cli/stats_tables.h"

#include <set>
#include <string>
#include <string_view>

#include "control/vm.h"

namespace paravane::cli {
namespace {

using control::CounterGroup;
using control::TextTable;

std::string subject_of(const control::VmStats& vm) {
  return control::adapter_name(vm.name, vm.adapter);
}

std::uint64_t value_of(const control::VmStats& vm, std::string_view group,
                       std::string_view counter) {
  for (const CounterGroup& candidate : vm.groups) {
    if (candidate.name != group) continue;
    for (const control::CounterValue& value : candidate.counters) {
      if (value.name == counter) return value.value;
    }
  }
  return 0;
}

std::string paths_of(const control::VmStats& vm) {
  std::set<std::string> paths;
  for (const control::QpStats& qp : vm.queue_pairs) {
    if (qp.path != "-" && !qp.path.empty()) paths.insert(qp.path);
  }
  std::string text;
  for (const std::string& path : paths) text += (text.empty() ? "" : ",") + path;
  return text.empty() ? "-" : text;
}

void add_group(TextTable& table, const std::string& subject, const CounterGroup& group) {
  for (const control::CounterValue& counter : group.counters) {
    table.add({subject, group.name, counter.name, counter.value, counter.help});
  }
}

}  // namespace

TextTable vm_table(const control::Stats& stats) {
  TextTable table({"VM", "Path", "QPs", "Sends", "Sent Bytes", "Receives", "Received Bytes",
                   "Read Bytes", "Errors", "Flushed", "Messages"});
  for (const control::VmStats& vm : stats.vms) {
    table.add({subject_of(vm), paths_of(vm), std::uint64_t{vm.queue_pairs.size()},
               value_of(vm, "engine", "sends"), value_of(vm, "engine", "sent_bytes"),
               value_of(vm, "engine", "receives"), value_of(vm, "engine", "received_bytes"),
               value_of(vm, "engine", "read_bytes"), value_of(vm, "engine", "completion_errors"),
               value_of(vm, "engine", "flushed"), value_of(vm, "vfio_user", "vfio_user_messages")});
  }
  return table;
}

TextTable qp_table(const control::Stats& stats) {
  TextTable table({"VM", "QP", "Type", "State", "Peer QP", "Path", "Sends", "Sent Bytes",
                   "Receives", "Received Bytes", "Errors", "RNR Waits", "Retries"});
  for (const control::VmStats& vm : stats.vms) {
    for (const control::QpStats& qp : vm.queue_pairs) {
      table.add({subject_of(vm), std::uint64_t{qp.number}, qp.type, qp.state,
                 std::uint64_t{qp.dest_qpn}, qp.path, qp.sends, qp.sent_bytes, qp.receives,
                 qp.received_bytes, qp.errors, qp.rnr_waits, qp.retries});
    }
  }
  return table;
}

TextTable path_table(const control::Stats& stats) {
  TextTable table({"VM", "QP", "Peer GID", "Peer QP", "Host", "Path", "Why", "Sends", "Sent Bytes",
                   "Receives", "Received Bytes", "Retries"});
  for (const control::VmStats& vm : stats.vms) {
    for (const control::QpStats& qp : vm.queue_pairs) {
      if (qp.peer_gid.empty()) continue;
      table.add({subject_of(vm), std::uint64_t{qp.number}, qp.peer_gid, std::uint64_t{qp.dest_qpn},
                 qp.peer_host.empty() ? "-" : qp.peer_host, qp.path, qp.why, qp.sends,
                 qp.sent_bytes, qp.receives, qp.received_bytes, qp.retries});
    }
  }
  return table;
}

TextTable counter_table(const control::Stats& stats) {
  TextTable table({"Subject", "Group", "Counter", "Value", "Meaning"});
  for (const CounterGroup& group : stats.daemon) add_group(table, "daemon", group);
  for (const control::VmStats& vm : stats.vms) {
    for (const CounterGroup& group : vm.groups) add_group(table, subject_of(vm), group);
    add_group(table, subject_of(vm), vm.objects);
  }
  return table;
}

}  // namespace paravane::cli
