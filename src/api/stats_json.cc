#include "api/stats_json.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "json/json_reader.h"

namespace paravane::api {

using nlohmann::json;

namespace {

struct QpCounterField {
  const char* name;
  std::uint64_t model::QpStats::* member;
};
constexpr std::array kQpCounters = {
    QpCounterField{"sends", &model::QpStats::sends},
    QpCounterField{"receives", &model::QpStats::receives},
    QpCounterField{"sent_bytes", &model::QpStats::sent_bytes},
    QpCounterField{"received_bytes", &model::QpStats::received_bytes},
    QpCounterField{"errors", &model::QpStats::errors},
    QpCounterField{"rnr_waits", &model::QpStats::rnr_waits},
    QpCounterField{"retries", &model::QpStats::retries},
};

json group_to_json(const model::CounterGroup& group) {
  json counters = json::array();
  for (const model::CounterValue& counter : group.counters) {
    counters.push_back({{"name", counter.name}, {"help", counter.help}, {"value", counter.value}});
  }
  return {{"name", group.name}, {"counters", std::move(counters)}};
}

json groups_to_json(const std::vector<model::CounterGroup>& groups) {
  json result = json::array();
  for (const model::CounterGroup& group : groups) result.push_back(group_to_json(group));
  return result;
}

json qp_to_json(const model::QpStats& qp) {
  json result = {{"number", qp.number},     {"handle", qp.handle},       {"type", qp.type},
                 {"state", qp.state},       {"dest_qpn", qp.dest_qpn},   {"path", qp.path},
                 {"peer_gid", qp.peer_gid}, {"peer_host", qp.peer_host}, {"why", qp.why}};
  for (const QpCounterField& field : kQpCounters) result[field.name] = qp.*field.member;
  return result;
}

// Reads each element of an array with `read`; the first problem is the answer.
template <typename T>
Result<std::vector<T>> read_all(const json* array, Result<T> (*read)(const json&)) {
  std::vector<T> result;
  if (array == nullptr) return result;
  for (const json& element : *array) {
    Result<T> one = read(element);
    if (!one) return std::unexpected(one.error());
    result.push_back(std::move(*one));
  }
  return result;
}

Result<model::CounterValue> read_counter(const json& value) {
  JsonReader reader(value, "counter");
  model::CounterValue counter{.name = reader.need_text("name"),
                              .help = reader.need_text("help"),
                              .value = reader.need_number("value")};
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return counter;
}

Result<model::CounterGroup> read_group(const json& value) {
  JsonReader reader(value, "group");
  model::CounterGroup group{.name = reader.need_text("name"), .counters = {}};
  auto counters = read_all(reader.array("counters"), read_counter);
  if (!counters) return std::unexpected(counters.error());
  group.counters = std::move(*counters);
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return group;
}

json left_out_json(const std::vector<model::LeftOut>& left_out) {
  json result = json::array();
  for (const model::LeftOut& one : left_out) {
    result.push_back(
        {{"kind", one.kind}, {"name", one.name}, {"reason", one.reason}, {"remedy", one.remedy}});
  }
  return result;
}

Result<model::LeftOut> read_left_out(const json& value) {
  JsonReader reader(value, "left_out");
  model::LeftOut one{.kind = reader.need_text("kind"),
                     .name = reader.need_text("name"),
                     .reason = reader.need_text("reason"),
                     .remedy = reader.need_text("remedy")};
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return one;
}

Result<model::UpgradeStatus> read_upgrade(const json& value) {
  JsonReader reader(value, "upgrade");
  // This release does not know the states of a newer one.
  const auto state = model::parse_upgrade_state(reader.need_text("state"));
  model::UpgradeStatus upgrade{.state = state.value_or(model::UpgradeState::kNone),
                               .from = reader.need_text("from"),
                               .to = reader.need_text("to"),
                               .cause = reader.need_text("cause"),
                               .gap_ms = reader.need_number("gap_ms"),
                               .time = reader.need_text("time")};
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return upgrade;
}

Result<model::KeeperStatus> read_keeper(const json& value) {
  JsonReader reader(value, "keeper");
  model::KeeperStatus keeper{.version = reader.need_text("version"),
                             .cause = reader.need_text("cause")};
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return keeper;
}

Result<model::QpStats> read_qp(const json& value) {
  JsonReader reader(value, "queue pair");
  model::QpStats qp;
  qp.number = reader.need_u32("number");
  qp.handle = reader.need_u32("handle");
  qp.dest_qpn = reader.need_u32("dest_qpn");
  qp.type = reader.need_text("type");
  qp.state = reader.need_text("state");
  qp.path = reader.need_text("path");
  qp.peer_gid = reader.text("peer_gid").value_or("");
  qp.peer_host = reader.text("peer_host").value_or("");
  qp.why = reader.text("why").value_or("");
  for (const QpCounterField& field : kQpCounters) qp.*field.member = reader.need_number(field.name);
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return qp;
}

Result<model::VmStats> read_vm(const json& value) {
  JsonReader reader(value, "vm");
  model::VmStats vm;
  vm.name = reader.need_text("name");
  vm.adapter = reader.u32("adapter").value_or(1);
  auto groups = read_all(reader.array("groups"), read_group);
  if (!groups) return std::unexpected(groups.error());
  vm.groups = std::move(*groups);
  if (const json* objects = reader.object("objects")) {
    Result<model::CounterGroup> group = read_group(*objects);
    if (!group) return std::unexpected(group.error());
    vm.objects = std::move(*group);
  }
  auto qps = read_all(reader.array("queue_pairs"), read_qp);
  if (!qps) return std::unexpected(qps.error());
  vm.queue_pairs = std::move(*qps);
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return vm;
}

}  // namespace

json to_json(const model::Stats& stats) {
  json vms = json::array();
  for (const model::VmStats& vm : stats.vms) {
    json qps = json::array();
    for (const model::QpStats& qp : vm.queue_pairs) qps.push_back(qp_to_json(qp));
    vms.push_back({{"name", vm.name},
                   {"adapter", vm.adapter},
                   {"groups", groups_to_json(vm.groups)},
                   {"objects", group_to_json(vm.objects)},
                   {"queue_pairs", std::move(qps)}});
  }
  return {{"daemon", groups_to_json(stats.daemon)}, {"vms", std::move(vms)}};
}

json to_json(const model::UpgradeStatus& upgrade) {
  return {{"state", std::string(model::to_string(upgrade.state))},
          {"from", upgrade.from},
          {"to", upgrade.to},
          {"cause", upgrade.cause},
          {"gap_ms", upgrade.gap_ms},
          {"time", upgrade.time}};
}

json to_json(const model::DaemonStatus& status) {
  return {{"version", status.version},
          {"pid", status.pid},
          {"uptime_seconds", status.uptime_seconds},
          {"vms", status.vms},
          {"attached", status.attached},
          {"state_dir", status.state_dir},
          {"socket_dir", status.socket_dir},
          {"config_file", status.config_file},
          {"host", status.host},
          {"impairments", status.impairments},
          {"left_out", left_out_json(status.left_out)},
          {"upgrade", to_json(status.upgrade)},
          {"keeper", {{"version", status.keeper.version}, {"cause", status.keeper.cause}}}};
}

Result<model::Stats> stats_from_json(const json& value) {
  JsonReader reader(value, "stats");
  auto groups = read_all(reader.array("daemon"), read_group);
  if (!groups) return std::unexpected(groups.error());
  auto vms = read_all(reader.array("vms"), read_vm);
  if (!vms) return std::unexpected(vms.error());
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return model::Stats{.daemon = std::move(*groups), .vms = std::move(*vms)};
}

Result<model::DaemonStatus> daemon_status_from_json(const json& value) {
  JsonReader reader(value, "status");
  model::DaemonStatus status;
  status.version = reader.need_text("version");
  status.pid = static_cast<int>(reader.need_number("pid", 0x7FFFFFFF));
  status.uptime_seconds = reader.need_number("uptime_seconds");
  status.vms = reader.need_number("vms");
  status.attached = reader.need_number("attached");
  status.state_dir = reader.need_text("state_dir");
  status.socket_dir = reader.need_text("socket_dir");
  status.config_file = reader.need_text("config_file");
  status.host = reader.text("host").value_or("");
  status.impairments = reader.number("impairments").value_or(0);
  auto left_out = read_all(reader.array("left_out"), read_left_out);
  if (!left_out) return std::unexpected(left_out.error());
  status.left_out = std::move(*left_out);
  if (const json* upgrade = reader.object("upgrade")) {
    auto read = read_upgrade(*upgrade);
    if (!read) return std::unexpected(read.error());
    status.upgrade = std::move(*read);
  }
  if (const json* keeper = reader.object("keeper")) {
    auto read = read_keeper(*keeper);
    if (!read) return std::unexpected(read.error());
    status.keeper = std::move(*read);
  }
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return status;
}

}  // namespace paravane::api
