#include "api/network_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "json/json_reader.h"

namespace paravane::api {

using nlohmann::json;

namespace {

enum class Unknown : std::uint8_t { kRefused, kIgnored };  // keys

std::vector<std::string> read_texts(JsonReader& reader, const char* key) {
  std::vector<std::string> texts;
  const json* array = reader.array(key);
  if (array == nullptr) return texts;
  for (const json& text : *array) {
    if (text.is_string()) {
      texts.push_back(text.get_ref<const std::string&>());
    } else {
      reader.complain(key, "must be an array of strings");
    }
  }
  return texts;
}

model::SwitchHost read_host(JsonReader& reader) {
  model::SwitchHost host{.host = reader.need_text("host"),
                         .uplink = reader.text("uplink").value_or("")};
  host.standby = read_texts(reader, "standby");
  return host;
}

void read_hosts(JsonReader& vds, Unknown unknown, model::DistributedSwitch& spec) {
  const json* array = vds.array("hosts");
  if (array == nullptr) return;
  for (const json& element : *array) {
    JsonReader reader(element, "host");
    const model::SwitchHost host = read_host(reader);
    const Status good =
        unknown == Unknown::kRefused ? reader.finish() : reader.finish_ignoring_unknown();
    if (!good) vds.complain("hosts", good.error().message);
    if (spec.hosts.contains(host.host)) vds.complain("hosts", "lists a host twice");
    model::put_member(spec, host);
  }
}

model::DistributedSwitch read_switch(JsonReader& reader, Unknown unknown) {
  model::DistributedSwitch spec;
  spec.name = reader.need_text("name");
  spec.mtu = reader.u32("mtu").value_or(spec.mtu);
  read_hosts(reader, unknown, spec);
  return spec;
}

bool read_roce(JsonReader& reader, const std::string& word) {
  const auto roce = model::parse_roce(word);
  if (!roce) reader.complain("roce", "must be native or off");
  return roce.value_or(false);
}

bool read_routed(JsonReader& reader, const std::string& word) {
  const auto routed = model::parse_routed(word);
  if (!routed) reader.complain("routed", "must be on or off");
  return routed.value_or(false);
}

model::PortGroup read_port_group(JsonReader& reader) {
  model::PortGroup group{.name = reader.need_text("name"),
                         .vds = reader.need_text("vds"),
                         .vlan = reader.u32("vlan").value_or(0)};
  group.native_roce = read_roce(reader, reader.text("roce").value_or("off"));
  group.routed = read_routed(reader, reader.text("routed").value_or("off"));
  return group;
}

template <typename T>
Result<T> finish(JsonReader& reader, T value, Status (*check)(const T&),
                 Unknown unknown = Unknown::kRefused) {
  const Status read =
      unknown == Unknown::kRefused ? reader.finish() : reader.finish_ignoring_unknown();
  if (!read) return std::unexpected(read.error());
  if (Status good = check(value); !good) return std::unexpected(good.error());
  return value;
}

}  // namespace

json to_json(const model::SwitchHost& host) {
  json result = {{"host", host.host}, {"uplink", host.uplink}};
  // Hosts of earlier releases read this too, and use the uplink alone.
  if (!host.standby.empty()) result["standby"] = host.standby;
  return result;
}

json to_json(const model::DistributedSwitch& vds) {
  json hosts = json::array();
  for (const auto& [host, uplink] : vds.hosts) {
    hosts.push_back(to_json(*model::member_of(vds, host)));
  }
  return {{"name", vds.name}, {"mtu", vds.mtu}, {"hosts", std::move(hosts)}};
}

json to_json(const model::PortGroup& group) {
  json result = {{"name", group.name}, {"vds", group.vds}, {"vlan", group.vlan}};
  // Hosts of earlier releases read this too.
  if (group.native_roce) result["roce"] = model::roce_word(true);
  if (group.routed) result["routed"] = model::routed_word(true);
  return result;
}

json to_json(const model::PortGroupChange& change) {
  json result = json::object();
  if (change.native_roce) result["roce"] = model::roce_word(*change.native_roce);
  if (change.routed) result["routed"] = model::routed_word(*change.routed);
  return result;
}

json to_json(const model::SwitchStatus& status) {
  json result = to_json(status.spec);
  result["port_groups"] = status.port_groups;
  result["host"] = status.host;
  result["form"] = model::to_string(status.form);
  result["bridges"] = status.bridges;
  result["problems"] = status.problems;
  if (!status.active.empty()) result["active"] = status.active;
  return result;
}

json to_json(const model::SwitchRepair& repair) {
  json mended = json::array();
  for (const model::MendedLink& link : repair.mended) {
    mended.push_back({{"vds", link.vds}, {"interface", link.interface}, {"text", link.text}});
  }
  json switches = json::array();
  for (const model::SwitchStatus& vds : repair.switches) switches.push_back(to_json(vds));
  return {{"mended", std::move(mended)}, {"vds", std::move(switches)}};
}

json to_json(const model::PortGroupStatus& status) {
  json result = to_json(status.spec);
  result["roce"] = model::roce_word(status.spec.native_roce);
  result["routed"] = model::routed_word(status.spec.routed);
  result["adapters"] = status.adapters;
  return result;
}

Result<model::DistributedSwitch> switch_from_json(const json& value) {
  JsonReader reader(value, "vds");
  return finish(reader, read_switch(reader, Unknown::kRefused), model::check_switch);
}

Result<model::PortGroup> port_group_from_json(const json& value) {
  JsonReader reader(value, "portgroup");
  return finish(reader, read_port_group(reader), model::check_port_group);
}

Result<model::DistributedSwitch> kept_switch_from_json(const json& value) {
  JsonReader reader(value, "vds");
  return finish(reader, read_switch(reader, Unknown::kIgnored), model::check_switch,
                Unknown::kIgnored);
}

Result<model::PortGroup> kept_port_group_from_json(const json& value) {
  JsonReader reader(value, "portgroup");
  return finish(reader, read_port_group(reader), model::check_port_group, Unknown::kIgnored);
}

Result<model::SwitchHost> switch_host_from_json(const json& value) {
  JsonReader reader(value, "host");
  return finish(reader, read_host(reader), model::check_switch_host);
}

Result<model::SwitchHost> uplinks_from_json(const json& value) {
  JsonReader reader(value, "change");
  model::SwitchHost host{.host = {}, .uplink = reader.need_text("uplink")};
  host.standby = read_texts(reader, "standby");
  if (Status good = reader.finish(); !good) return std::unexpected(good.error());
  return host;
}

Result<std::uint32_t> mtu_from_json(const json& value) {
  JsonReader reader(value, "change");
  const auto mtu = reader.need_u32("mtu");
  if (Status good = reader.finish(); !good) return std::unexpected(good.error());
  if (Status good = model::check_mtu(mtu); !good) return std::unexpected(good.error());
  return mtu;
}

Result<model::PortGroupChange> port_group_change_from_json(const json& value) {
  JsonReader reader(value, "change");
  model::PortGroupChange change;
  if (const auto word = reader.text("roce")) change.native_roce = read_roce(reader, *word);
  if (const auto word = reader.text("routed")) change.routed = read_routed(reader, *word);
  if (Status good = reader.finish(); !good) return std::unexpected(good.error());
  if (change.empty()) return fail(Errc::kInvalidArgument, "change: needs roce or routed");
  return change;
}

Result<model::SwitchStatus> switch_status_from_json(const json& value) {
  JsonReader reader(value, "vds");
  model::SwitchStatus status;
  status.spec = read_switch(reader, Unknown::kIgnored);
  status.port_groups = read_texts(reader, "port_groups");
  status.host = reader.text("host").value_or("");
  status.form = model::parse_switch_form(reader.text("form").value_or("none"))
                    .value_or(model::SwitchForm::kNone);
  status.bridges = read_texts(reader, "bridges");
  status.problems = read_texts(reader, "problems");
  status.active = reader.text("active").value_or("");
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return status;
}

Result<model::PortGroupStatus> port_group_status_from_json(const json& value) {
  JsonReader reader(value, "portgroup");
  model::PortGroupStatus status;
  status.spec = read_port_group(reader);
  status.adapters = read_texts(reader, "adapters");
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return status;
}

Result<model::SwitchRepair> switch_repair_from_json(const json& value) {
  JsonReader reader(value, "repair");
  model::SwitchRepair repair;
  if (const json* mended = reader.array("mended"); mended != nullptr) {
    for (const json& element : *mended) {
      JsonReader link(element, "mended");
      repair.mended.push_back({.vds = link.text("vds").value_or(""),
                               .interface = link.need_text("interface"),
                               .text = link.need_text("text")});
      if (Status good = link.finish_ignoring_unknown(); !good) {
        return std::unexpected(good.error());
      }
    }
  }
  if (const json* switches = reader.array("vds"); switches != nullptr) {
    for (const json& element : *switches) {
      auto vds = switch_status_from_json(element);
      if (!vds) return std::unexpected(vds.error());
      repair.switches.push_back(std::move(*vds));
    }
  }
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return repair;
}

}  // namespace paravane::api
