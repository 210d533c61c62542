#include "api/machine_json.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "api/named_counts.h"
#include "api/nic_dcb_json.h"
#include "json/json_reader.h"

namespace paravane::api {

using nlohmann::json;

namespace {

bool read_flag(JsonReader& reader, const char* key) {
  return reader.boolean(key).value_or(false);
}

// Of a daemon that does not say it, none.
std::vector<std::string> read_trunks(JsonReader& reader, const char* key) {
  std::vector<std::string> hosts;
  const json* array = reader.array(key);
  if (array == nullptr) return hosts;
  for (const json& host : *array) {
    if (host.is_string()) hosts.push_back(host.get<std::string>());
  }
  if (hosts.size() != array->size()) reader.complain(key, "must be names of hosts");
  return hosts;
}

template <typename T>
void read_list(JsonReader& reader, const char* key, std::size_t most,
               Result<T> (*read)(const json&), std::vector<T>& list) {
  const json* array = reader.array(key);
  if (array == nullptr) return;
  if (array->size() > most) return reader.complain(key, fmt::format("has more than {}", most));
  for (const json& element : *array) {
    Result<T> one = read(element);
    if (!one) return reader.complain(key, one.error().message);
    list.push_back(std::move(*one));
  }
}

}  // namespace

json to_json(const model::PhysicalNic& nic) {
  return {{"name", nic.name},
          {"identity", nic.identity},
          {"linux_name", nic.linux_name},
          {"pci", nic.pci},
          {"driver", nic.driver},
          {"mac", nic.mac},
          {"description", nic.description},
          {"team", nic.team},
          {"mtu", nic.mtu},
          {"speed_mbps", nic.speed_mbps},
          {"full_duplex", nic.full_duplex},
          {"up", nic.up},
          {"carrier", nic.carrier},
          {"pause", to_json(nic.pause)},
          {"pfc", priorities_json(nic.pfc)},
          {"dcb", nic.dcb}};
}

json to_json(const model::RdmaDevice& device) {
  return {{"name", device.name},
          {"identity", device.identity},
          {"linux_name", device.linux_name},
          {"port", device.port},
          {"driver", device.driver},
          {"description", device.description},
          {"link_layer", device.link_layer},
          {"state", model::to_string(device.state)},
          {"mtu", device.mtu},
          {"speed_mbps", device.speed_mbps},
          {"paired_link", device.paired_link},
          {"paired_uplink", device.paired_uplink},
          {"roce_v1", device.roce_v1},
          {"roce_v2", device.roce_v2},
          {"iwarp", device.iwarp},
          {"trunks", device.trunks},
          {"uplink_of", device.uplink_of}};
}

json to_json(const model::RdmaStats& stats) {
  return {{"name", stats.name},
          {"counters", stats.counters},
          {"hw_counters", stats.hw_counters},
          {"resources", stats.resources}};
}

json to_json(const model::Machine& machine) {
  json nics = json::array();
  for (const model::PhysicalNic& nic : machine.nics) nics.push_back(to_json(nic));
  json devices = json::array();
  for (const model::RdmaDevice& device : machine.rdma_devices) devices.push_back(to_json(device));
  return {{"nics", std::move(nics)}, {"rdma_devices", std::move(devices)}};
}

Result<model::PhysicalNic> nic_from_json(const json& value) {
  JsonReader reader(value, "nic");
  model::PhysicalNic nic{.name = reader.need_text("name"),
                         .identity = reader.need_text("identity"),
                         .linux_name = reader.need_text("linux_name"),
                         .pci = reader.need_text("pci"),
                         .driver = reader.need_text("driver"),
                         .mac = reader.need_text("mac"),
                         .description = reader.need_text("description"),
                         .team = reader.need_text("team"),
                         .mtu = reader.need_u32("mtu"),
                         .speed_mbps = reader.need_u32("speed_mbps"),
                         .full_duplex = read_flag(reader, "full_duplex"),
                         .up = read_flag(reader, "up"),
                         .carrier = read_flag(reader, "carrier"),
                         .pause = read_pause(reader, "pause"),
                         .pfc = read_priorities(reader, "pfc"),
                         .dcb = read_flag(reader, "dcb")};
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return nic;
}

Result<model::RdmaDevice> rdma_device_from_json(const json& value) {
  JsonReader reader(value, "rdma device");
  model::RdmaDevice device{.name = reader.need_text("name"),
                           .identity = reader.need_text("identity"),
                           .linux_name = reader.need_text("linux_name"),
                           .port = reader.need_u32("port"),
                           .driver = reader.need_text("driver"),
                           .description = reader.need_text("description"),
                           .link_layer = reader.need_text("link_layer"),
                           .mtu = reader.need_u32("mtu"),
                           .speed_mbps = reader.need_u32("speed_mbps"),
                           .paired_link = reader.need_text("paired_link"),
                           .paired_uplink = reader.need_text("paired_uplink"),
                           .roce_v1 = read_flag(reader, "roce_v1"),
                           .roce_v2 = read_flag(reader, "roce_v2"),
                           .iwarp = read_flag(reader, "iwarp"),
                           .trunks = read_trunks(reader, "trunks"),
                           .uplink_of = reader.text("uplink_of").value_or("")};
  const auto state = model::parse_rdma_state(reader.need_text("state"));
  device.state = state.value_or(model::RdmaState::kUnknown);
  if (!state) reader.complain("state", "is not a valid port state");
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return device;
}

Result<model::RdmaStats> rdma_stats_from_json(const json& value) {
  JsonReader reader(value, "rdma stats");
  model::RdmaStats stats{
      .name = reader.need_text("name"),
      .counters = read_named_counts(reader, "counters", model::kMaxRdmaCounters),
      .hw_counters = read_named_counts(reader, "hw_counters", model::kMaxRdmaCounters),
      .resources = read_named_counts(reader, "resources", model::kMaxRdmaCounters)};
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return stats;
}

Result<model::Machine> machine_from_json(const json& value) {
  JsonReader reader(value, "machine");
  model::Machine machine;
  read_list(reader, "nics", model::kMaxNics, nic_from_json, machine.nics);
  read_list(reader, "rdma_devices", model::kMaxRdmaDevices, rdma_device_from_json,
            machine.rdma_devices);
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return machine;
}

}  // namespace paravane::api
