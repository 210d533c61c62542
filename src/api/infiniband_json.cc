#include "api/infiniband_json.h"

#include <fmt/core.h>

#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/named_counts.h"
#include "json/json_reader.h"
#include "model/distributed_switch.h"

namespace paravane::api {

using nlohmann::json;

namespace {

constexpr std::size_t kGuidDigits = 16;
constexpr std::size_t kPartitionDigits = 4;

std::string guid_text(std::uint64_t guid) {
  return fmt::format("0x{:016x}", guid);
}

// "0x" and as many digits as the value has.
std::optional<std::uint64_t> parse_hex(std::string_view text, std::size_t digits) {
  if (!text.starts_with("0x") || text.size() != 2 + digits) return std::nullopt;
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + 2, end, value, 16);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

std::uint64_t need_guid(JsonReader& reader, const char* key) {
  const auto guid = parse_hex(reader.need_text(key), kGuidDigits);
  if (!guid) reader.complain(key, "must be a GUID, such as 0x0250560001a2b301");
  return guid.value_or(0);
}

model::IbPortState need_port_state(JsonReader& reader, const char* key) {
  const auto state = model::parse_ib_port_state(reader.need_text(key));
  if (!state) reader.complain(key, "must be the state of a port, such as Active");
  return state.value_or(model::IbPortState::kUnknown);
}

std::vector<std::uint16_t> read_partitions(JsonReader& reader, const char* key) {
  std::vector<std::uint16_t> partitions;
  const json* array = reader.array(key);
  if (array == nullptr) return partitions;
  for (const json& element : *array) {
    const auto partition = element.is_string()
                               ? parse_hex(element.get_ref<const std::string&>(), kPartitionDigits)
                               : std::nullopt;
    if (!partition) {
      reader.complain(key, "must be partition keys, such as 0x7fff");
      break;
    }
    partitions.push_back(static_cast<std::uint16_t>(*partition));
  }
  return partitions;
}

// NICs by the numbers of their ports, as an object: {"2": "eth1"}.
std::map<std::uint32_t, std::string> read_ethernet(JsonReader& reader) {
  std::map<std::uint32_t, std::string> nics;
  const json* object = reader.object("ethernet");
  if (object == nullptr) return nics;
  for (const auto& [key, nic] : object->items()) {
    std::uint32_t port = 0;
    const char* end = key.data() + key.size();
    const auto [rest, error] = std::from_chars(key.data(), end, port);
    if (error != std::errc() || rest != end || !nic.is_string()) {
      reader.complain("ethernet", "must be NICs by the numbers of their ports");
      break;
    }
    nics[port] = nic.get<std::string>();
  }
  return nics;
}

json ethernet_json(const std::map<std::uint32_t, std::string>& nics) {
  json object = json::object();
  for (const auto& [port, nic] : nics) object[std::to_string(port)] = nic;
  return object;
}

model::IbAdapter read_ib_adapter(JsonReader& reader) {
  return {.name = reader.need_text("name"),
          .device = reader.need_text("device"),
          .bus = reader.need_u32("bus"),
          .ethernet = read_ethernet(reader)};
}

model::IbPortType read_port_type(JsonReader& reader) {
  const auto text = reader.text("type");
  const auto type = model::parse_ib_port_type(text.value_or("ib"));
  if (!type) reader.complain("type", "must be ib or eth");
  return type.value_or(model::IbPortType::kInfiniband);
}

Result<model::IbAdapter> checked(model::IbAdapter adapter) {
  if (Status good = model::check_ib_adapter(adapter); !good) return std::unexpected(good.error());
  return adapter;
}

model::MacAddress need_mac(JsonReader& reader, const char* key) {
  const auto mac = model::parse_mac(reader.need_text(key));
  if (!mac) reader.complain(key, "must be a MAC address");
  return mac ? *mac : model::MacAddress{};
}

template <typename T>
void read_elements(JsonReader& reader, const char* key, Result<T> (*read)(const json&),
                   std::vector<T>& list) {
  const json* array = reader.array(key);
  if (array == nullptr) return reader.complain(key, "is missing");
  for (const json& element : *array) {
    Result<T> one = read(element);
    if (!one) return reader.complain(key, one.error().message);
    list.push_back(std::move(*one));
  }
}

template <typename T>
json elements_json(const std::vector<T>& list) {
  json array = json::array();
  for (const T& one : list) array.push_back(to_json(one));
  return array;
}

}  // namespace

json to_json(const model::IbAdapter& adapter) {
  return {{"name", adapter.name},
          {"device", adapter.device},
          {"bus", adapter.bus},
          {"ethernet", ethernet_json(adapter.ethernet)}};
}

json to_json(const model::IbPort& port) {
  json partitions = json::array();
  for (const std::uint16_t key : port.partitions) {
    partitions.push_back(fmt::format("0x{:04x}", key));
  }
  return {{"number", port.number},
          {"type", model::to_string(port.type)},
          {"nic", port.nic},
          {"guid", guid_text(port.guid)},
          {"state", model::to_string(port.state)},
          {"rate_gbps", port.rate_gbps},
          {"lid", port.lid},
          {"sm_lid", port.sm_lid},
          {"is_sm", port.is_sm},
          {"mtu", port.mtu},
          {"partitions", std::move(partitions)},
          {"problem", port.problem}};
}

json to_json(const model::IbAdapterStatus& status) {
  json value = to_json(status.adapter);
  value["description"] = status.description;
  value["guid"] = guid_text(status.guid);
  value["ports"] = elements_json(status.ports);
  value["problem"] = status.problem;
  return value;
}

json to_json(const model::IbUplinkPartition& partition) {
  return {
      {"vlan", partition.vlan},
      {"key", partition.key == 0 ? json(nullptr) : json(fmt::format("0x{:04x}", partition.key))},
      {"mtu", partition.mtu},
      {"problem", partition.problem}};
}

json to_json(const model::IbUplink& uplink) {
  return {{"name", uplink.name},
          {"adapter", uplink.adapter},
          {"device", uplink.device},
          {"port", uplink.port},
          {"net_queue", uplink.has_net_queue},
          {"mac", model::format_mac(uplink.mac)},
          {"rate_gbps", uplink.rate_gbps},
          {"vds", uplink.vds},
          {"mtu", uplink.mtu},
          {"partitions", elements_json(uplink.partitions)},
          {"addresses", uplink.addresses},
          {"counters", uplink.counters},
          {"problem", uplink.problem}};
}

json to_json(const model::IbLink& link) {
  return {{"port", link.port},
          {"peer", link.peer},
          {"state", model::to_string(link.state)},
          {"sent_packets", link.sent_packets},
          {"received_packets", link.received_packets},
          {"sent_bytes", link.sent_bytes},
          {"received_bytes", link.received_bytes},
          {"dropped", link.dropped},
          {"management_dropped", link.management_dropped},
          {"problem", link.problem}};
}

json to_json(const model::IbManager& manager) {
  return {{"host", manager.host}, {"problem", manager.problem}};
}

json to_json(const model::IbFabric& fabric) {
  const bool has_switch = fabric.switch_guid != 0;
  return {{"host", fabric.host},
          {"switch_guid", has_switch ? json(guid_text(fabric.switch_guid)) : json(nullptr)},
          {"switch_lid", fabric.switch_lid},
          {"sm_lid", fabric.sm_lid},
          {"links", elements_json(fabric.links)},
          {"umad_socket", fabric.umad_socket}};
}

Result<model::IbAdapter> ib_adapter_from_json(const json& value) {
  JsonReader reader(value, "adapter");
  model::IbAdapter adapter = read_ib_adapter(reader);
  if (Status good = reader.finish(); !good) return std::unexpected(good.error());
  return checked(std::move(adapter));
}

Result<model::IbManager> new_ib_manager_from_json(const json& value) {
  JsonReader reader(value, "manager");
  model::IbManager manager{.host = reader.need_text("host")};
  if (Status good = reader.finish(); !good) return std::unexpected(good.error());
  if (Status good = model::check_host_name(manager.host); !good)
    return std::unexpected(good.error());
  return manager;
}

Result<model::IbAdapter> kept_ib_adapter_from_json(const json& value) {
  JsonReader reader(value, "adapter");
  model::IbAdapter adapter = read_ib_adapter(reader);
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return checked(std::move(adapter));
}

Result<model::IbPort> ib_port_from_json(const json& value) {
  JsonReader reader(value, "port");
  model::IbPort port{.number = reader.need_u32("number"),
                     .type = read_port_type(reader),
                     .nic = reader.text("nic").value_or(""),
                     .guid = need_guid(reader, "guid"),
                     .state = need_port_state(reader, "state"),
                     .rate_gbps = reader.need_u32("rate_gbps"),
                     .lid = reader.need_u32("lid"),
                     .sm_lid = reader.need_u32("sm_lid"),
                     .is_sm = reader.boolean("is_sm").value_or(false),
                     .mtu = reader.need_u32("mtu"),
                     .partitions = read_partitions(reader, "partitions"),
                     .problem = reader.text("problem").value_or("")};
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return port;
}

Result<model::IbAdapterStatus> ib_adapter_status_from_json(const json& value) {
  JsonReader reader(value, "adapter");
  model::IbAdapterStatus status{.adapter = read_ib_adapter(reader),
                                .description = reader.text("description").value_or(""),
                                .guid = need_guid(reader, "guid")};
  read_elements(reader, "ports", ib_port_from_json, status.ports);
  status.problem = reader.text("problem").value_or("");
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return status;
}

Result<model::IbUplinkPartition> ib_uplink_partition_from_json(const json& value) {
  JsonReader reader(value, "partition");
  model::IbUplinkPartition partition{.vlan = reader.need_u32("vlan")};
  if (!reader.is_null("key")) {
    const auto key = parse_hex(reader.need_text("key"), kPartitionDigits);
    if (!key) reader.complain("key", "must be a partition key, such as 0x800a");
    partition.key = static_cast<std::uint16_t>(key.value_or(0));
  }
  partition.mtu = reader.need_u32("mtu");
  partition.problem = reader.text("problem").value_or("");
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return partition;
}

Result<model::IbUplink> ib_uplink_from_json(const json& value) {
  JsonReader reader(value, "uplink");
  model::IbUplink uplink{.name = reader.need_text("name"),
                         .adapter = reader.need_text("adapter"),
                         .device = reader.need_text("device"),
                         .port = reader.need_u32("port"),
                         .has_net_queue = reader.boolean("net_queue").value_or(false),
                         .mac = need_mac(reader, "mac"),
                         .rate_gbps = reader.need_u32("rate_gbps"),
                         .vds = reader.text("vds").value_or(""),
                         .mtu = reader.need_u32("mtu")};
  read_elements(reader, "partitions", ib_uplink_partition_from_json, uplink.partitions);
  uplink.addresses = reader.need_u32("addresses");
  uplink.counters = read_named_counts(reader, "counters", model::kMaxIbUplinkCounters);
  uplink.problem = reader.text("problem").value_or("");
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return uplink;
}

Result<model::IbLink> ib_link_from_json(const json& value) {
  JsonReader reader(value, "link");
  model::IbLink link{.port = reader.need_u32("port"),
                     .peer = reader.need_text("peer"),
                     .state = need_port_state(reader, "state"),
                     .sent_packets = reader.need_number("sent_packets"),
                     .received_packets = reader.need_number("received_packets"),
                     .sent_bytes = reader.need_number("sent_bytes"),
                     .received_bytes = reader.need_number("received_bytes"),
                     .dropped = reader.need_number("dropped"),
                     .management_dropped = reader.number("management_dropped").value_or(0),
                     .problem = reader.text("problem").value_or("")};
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return link;
}

Result<model::IbManager> ib_manager_from_json(const json& value) {
  JsonReader reader(value, "manager");
  model::IbManager manager{.host = reader.need_text("host"),
                           .problem = reader.text("problem").value_or("")};
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return manager;
}

Result<model::IbFabric> ib_fabric_from_json(const json& value) {
  JsonReader reader(value, "fabric");
  model::IbFabric fabric{.host = reader.need_text("host")};
  if (!reader.is_null("switch_guid")) fabric.switch_guid = need_guid(reader, "switch_guid");
  fabric.switch_lid = reader.need_u32("switch_lid");
  fabric.sm_lid = reader.need_u32("sm_lid");
  read_elements(reader, "links", ib_link_from_json, fabric.links);
  fabric.umad_socket = reader.text("umad_socket").value_or("");
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return fabric;
}

}  // namespace paravane::api
