#include "cli/stats_tables.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "api/stats_json.h"
#include "model/adapter_name.h"

namespace paravane::cli {
namespace {

void add_group(text::TextTable& table, const std::string& subject,
               const model::CounterGroup& group) {
  for (const model::CounterValue& counter : group.counters) {
    table.add({subject, group.name, counter.name, counter.value, counter.help});
  }
}

}  // namespace

std::string subject_of(const model::VmStats& vm) {
  return to_string(model::AdapterName{vm.name, vm.adapter});
}

std::uint64_t counter_of(const model::VmStats& vm, std::string_view group,
                         std::string_view counter) {
  for (const model::CounterGroup& candidate : vm.groups) {
    if (candidate.name != group) continue;
    for (const model::CounterValue& value : candidate.counters) {
      if (value.name == counter) return value.value;
    }
  }
  return 0;
}

std::string paths_of(const model::VmStats& vm) {
  std::set<std::string> paths;
  for (const model::QpStats& qp : vm.queue_pairs) {
    if (qp.path != "-" && !qp.path.empty()) paths.insert(qp.path);
  }
  std::string text;
  for (const std::string& path : paths) text += (text.empty() ? "" : ",") + path;
  return text.empty() ? "-" : text;
}

text::TextTable vm_table(const model::Stats& stats) {
  text::TextTable table({"VM", "Path", "QPs", "Sends", "Sent Bytes", "Receives", "Received Bytes",
                         "Read Bytes", "Errors", "Flushed", "Messages"});
  for (const model::VmStats& vm : stats.vms) {
    table.add({subject_of(vm), paths_of(vm), std::uint64_t{vm.queue_pairs.size()},
               counter_of(vm, "engine", "sends"), counter_of(vm, "engine", "sent_bytes"),
               counter_of(vm, "engine", "receives"), counter_of(vm, "engine", "received_bytes"),
               counter_of(vm, "engine", "read_bytes"),
               counter_of(vm, "engine", "completion_errors"), counter_of(vm, "engine", "flushed"),
               counter_of(vm, "vfio_user", "vfio_user_messages")});
  }
  return table;
}

text::TextTable qp_table(const model::Stats& stats) {
  text::TextTable table({"VM", "QP", "Type", "State", "Peer QP", "Path", "Sends", "Sent Bytes",
                         "Receives", "Received Bytes", "Errors", "RNR Waits", "Retries"});
  for (const model::VmStats& vm : stats.vms) {
    for (const model::QpStats& qp : vm.queue_pairs) {
      table.add({subject_of(vm), std::uint64_t{qp.number}, qp.type, qp.state,
                 std::uint64_t{qp.dest_qpn}, qp.path, qp.sends, qp.sent_bytes, qp.receives,
                 qp.received_bytes, qp.errors, qp.rnr_waits, qp.retries});
    }
  }
  return table;
}

text::TextTable path_table(const model::Stats& stats) {
  text::TextTable table({"VM", "QP", "Peer GID", "Peer QP", "Host", "Path", "Why", "Sends",
                         "Sent Bytes", "Receives", "Received Bytes", "Retries"});
  for (const model::VmStats& vm : stats.vms) {
    for (const model::QpStats& qp : vm.queue_pairs) {
      if (qp.peer_gid.empty()) continue;
      table.add({subject_of(vm), std::uint64_t{qp.number}, qp.peer_gid, std::uint64_t{qp.dest_qpn},
                 qp.peer_host.empty() ? "-" : qp.peer_host, qp.path, qp.why, qp.sends,
                 qp.sent_bytes, qp.receives, qp.received_bytes, qp.retries});
    }
  }
  return table;
}

text::TextTable counter_table(const model::Stats& stats) {
  text::TextTable table({"Subject", "Group", "Counter", "Value", "Meaning"});
  for (const model::CounterGroup& group : stats.daemon) add_group(table, "daemon", group);
  for (const model::VmStats& vm : stats.vms) {
    for (const model::CounterGroup& group : vm.groups) add_group(table, subject_of(vm), group);
    add_group(table, subject_of(vm), vm.objects);
  }
  return table;
}

nlohmann::json queue_pairs_json(const model::Stats& stats) {
  nlohmann::json array = nlohmann::json::array();
  const nlohmann::json all = api::to_json(stats);
  for (const nlohmann::json& vm : all.at("vms")) {
    for (nlohmann::json qp : vm.at("queue_pairs")) {
      qp["vm"] = vm.at("name");
      qp["adapter"] = vm.at("adapter");
      array.push_back(std::move(qp));
    }
  }
  return array;
}

nlohmann::json connections_json(const model::Stats& stats) {
  nlohmann::json array = nlohmann::json::array();
  for (nlohmann::json& qp : queue_pairs_json(stats)) {
    if (qp.at("peer_gid") != "") array.push_back(std::move(qp));
  }
  return array;
}

nlohmann::json counters_json(const model::Stats& stats) {
  nlohmann::json array = nlohmann::json::array();
  const auto add = [&array](const nlohmann::json& vm, const nlohmann::json& adapter,
                            const model::CounterGroup& group) {
    for (const model::CounterValue& counter : group.counters) {
      array.push_back({{"vm", vm},
                       {"adapter", adapter},
                       {"group", group.name},
                       {"name", counter.name},
                       {"value", counter.value},
                       {"help", counter.help}});
    }
  };
  for (const model::CounterGroup& group : stats.daemon) add(nullptr, nullptr, group);
  for (const model::VmStats& vm : stats.vms) {
    for (const model::CounterGroup& group : vm.groups) add(vm.name, vm.adapter, group);
    add(vm.name, vm.adapter, vm.objects);
  }
  return array;
}

}  // namespace paravane::cli
