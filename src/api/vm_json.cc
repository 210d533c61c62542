#include "api/vm_json.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "api/vm_machine_json.h"
#include "json/json_reader.h"
#include "json/json_text.h"

namespace paravane::api {

using nlohmann::json;

namespace {

std::optional<model::MacAddress> read_mac(JsonReader& reader) {
  const auto text = reader.text("mac");
  if (!text) return std::nullopt;
  const auto mac = model::parse_mac(*text);
  if (!mac) reader.complain("mac", "must be a MAC address such as 02:50:56:12:34:56");
  return mac;
}

std::optional<model::Protocol> read_protocol(JsonReader& reader) {
  const auto text = reader.text("protocol");
  if (!text) return std::nullopt;
  const auto protocol = model::parse_protocol(*text);
  if (!protocol) reader.complain("protocol", "must be \"v1\" or \"v2\"");
  return protocol;
}

Status finish_reading(JsonReader& reader, UnknownKeys unknown) {
  return unknown == UnknownKeys::kIgnored ? reader.finish_ignoring_unknown() : reader.finish();
}

model::VmLimits read_limits(JsonReader& spec, UnknownKeys unknown) {
  model::VmLimits limits;
  const json* object = spec.object("limits");
  if (object == nullptr) return limits;
  JsonReader reader(*object, "limits");
  for (const model::LimitField& field : model::kLimitFields) {
    if (const auto value = reader.u32(std::string(field.name).c_str()))
      limits.*field.member = value;
  }
  if (const Status good = finish_reading(reader, unknown); !good)
    spec.complain("limits", good.error().message);
  return limits;
}

model::AdapterSpec read_adapter(JsonReader& reader, std::uint32_t hw_version) {
  return {.mac = read_mac(reader),
          .protocol = read_protocol(reader).value_or(model::default_protocol(hw_version)),
          .connected = reader.boolean("connected").value_or(true),
          .port_group = reader.text("port_group").value_or("")};
}

model::AdapterSpec read_numbered_adapter(JsonReader& reader, std::uint32_t hw_version) {
  model::AdapterSpec adapter = read_adapter(reader, hw_version);
  adapter.number = reader.need_u32("number");
  return adapter;
}

model::VmMachineChange read_machine(JsonReader& reader, UnknownKeys unknown) {
  const json* object = reader.object("machine");
  if (object == nullptr) return {};
  const Result<model::VmMachineChange> machine = machine_change_from_json(*object, unknown);
  if (machine) return *machine;
  reader.complain("machine", machine.error().message);
  return {};
}

// All but the adapters.
model::VmSpec read_spec(JsonReader& reader, UnknownKeys unknown) {
  model::VmSpec spec;
  spec.name = reader.need_text("name");
  const auto hardware = reader.u32("hw_version");
  const auto device = reader.u32("version");
  spec.hw_version = hardware.value_or(model::default_hardware_version(device));
  spec.version = device.value_or(model::default_device_version(spec.hw_version));
  if (const auto text = reader.text("doorbells")) {
    const auto doorbells = model::parse_doorbells(*text);
    if (!doorbells) reader.complain("doorbells", "must be \"mapped\" or \"trapped\"");
    spec.doorbells = doorbells.value_or(model::Doorbells::kMapped);
  }
  spec.limits = read_limits(reader, unknown);
  spec.machine = model::apply(read_machine(reader, unknown), {});
  return spec;
}

// Of a daemon that says nothing of it, it is closed for no reason.
model::RoceStatus read_roce_status(JsonReader& adapter) {
  model::RoceStatus roce;
  const json* value = adapter.object("roce");
  if (value == nullptr) return roce;
  JsonReader reader(*value, "roce");
  roce.open = reader.boolean("open").value_or(false);
  roce.superframes = reader.boolean("superframes").value_or(false);
  roce.closed = reader.text("closed").value_or("");
  roce.unmerged = reader.text("unmerged").value_or("");
  if (const Status good = reader.finish_ignoring_unknown(); !good) {
    adapter.complain("roce", good.error().message);
  }
  return roce;
}

model::AdapterStatus read_status(JsonReader& reader) {
  model::AdapterStatus status;
  status.socket = reader.need_text("socket");
  const std::string state = reader.need_text("state");
  const auto known = model::parse_vm_state(state);
  if (!known) reader.complain("state", fmt::format("unknown state \"{}\"", state));
  status.state = known.value_or(model::VmState::kFailed);
  status.pid = static_cast<int>(reader.need_number("pid", 0x7FFFFFFF));
  status.problem = reader.need_text("problem");
  status.fault =
      model::parse_link_fault(reader.text("fault").value_or("")).value_or(model::LinkFault::kOther);
  status.tap = reader.text("tap").value_or("");
  status.roce = read_roce_status(reader);
  return status;
}

// `read` makes a value of each element of "adapters".
template <typename Read>
void read_adapters(JsonReader& vm, const json& array, Read read) {
  for (const json& element : array) {
    JsonReader reader(element, "adapter");
    if (const Status good = read(reader); !good) vm.complain("adapters", good.error().message);
  }
}

Result<model::VmSpec> whole_spec(const json& value, UnknownKeys unknown) {
  JsonReader reader(value, "vm");
  model::VmSpec spec = read_spec(reader, unknown);
  if (const json* array = reader.array("adapters")) {
    spec.adapters.clear();
    read_adapters(reader, *array, [&spec, unknown](JsonReader& one) {
      spec.adapters.push_back(read_numbered_adapter(one, spec.hw_version));
      return finish_reading(one, unknown);
    });
  } else {
    spec.adapters = {read_adapter(reader, spec.hw_version)};
  }
  if (Status good = finish_reading(reader, unknown); !good) return std::unexpected(good.error());
  if (Status good = model::check_spec(spec); !good) return std::unexpected(good.error());
  return spec;
}

json roce_to_json(const model::RoceStatus& roce) {
  return {{"open", roce.open},
          {"superframes", roce.superframes},
          {"closed", roce.closed},
          {"unmerged", roce.unmerged}};
}

json adapter_to_json(const model::AdapterSpec& adapter) {
  json result = {{"number", adapter.number},
                 {"protocol", model::to_string(adapter.protocol)},
                 {"connected", adapter.connected},
                 {"port_group", adapter.port_group}};
  if (adapter.mac) result["mac"] = model::format_mac(*adapter.mac);
  return result;
}

}  // namespace

json to_json(const model::VmSpec& spec) {
  json limits = json::object();
  for (const model::LimitField& field : model::kLimitFields) {
    if (const auto value = spec.limits.*field.member) limits[std::string(field.name)] = *value;
  }
  json adapters = json::array();
  for (const model::AdapterSpec& adapter : spec.adapters)
    adapters.push_back(adapter_to_json(adapter));
  return {{"name", spec.name},
          {"hw_version", spec.hw_version},
          {"version", spec.version},
          {"doorbells", model::to_string(spec.doorbells)},
          {"limits", std::move(limits)},
          {"adapters", std::move(adapters)},
          {"machine", to_json(spec.machine)}};
}

// FNV-1a, since it stays the same in every build.
std::string revision_of(const model::VmSpec& spec) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : print_json(to_json(spec))) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return fmt::format("{:016x}", hash);
}

json to_json(const model::VmStatus& status) {
  json result = to_json(status.spec);
  result["revision"] = status.revision;
  json& adapters = result["adapters"];
  for (std::size_t i = 0; i < status.adapters.size() && i < adapters.size(); ++i) {
    const model::AdapterStatus& adapter = status.adapters[i];
    adapters[i].update(
        {{"socket", adapter.socket},
         {"state", model::to_string(adapter.state)},
         {"pid", adapter.pid},
         {"problem", adapter.problem},
         {"fault",
          adapter.fault == model::LinkFault::kOther ? "" : model::to_string(adapter.fault)},
         {"tap", adapter.tap},
         {"roce", roce_to_json(adapter.roce)}});
  }
  // The first also stands in the VM itself, for clients that know one adapter.
  if (!adapters.empty()) {
    for (const auto& [key, value] : adapters.front().items()) {
      if (key != "number") result[key] = value;
    }
  }
  return result;
}

json to_json(const model::VmChange& change) {
  json result = json::object();
  if (change.hw_version) result["hw_version"] = *change.hw_version;
  if (change.protocol) result["protocol"] = model::to_string(*change.protocol);
  if (change.adapter) result["adapter"] = *change.adapter;
  if (change.port_group) result["port_group"] = *change.port_group;
  if (change.revision) result["revision"] = *change.revision;
  if (!change.machine.empty()) result["machine"] = to_json(change.machine);
  for (const model::LimitChange& limit : change.limits) {
    json& value = result["limits"][std::string(limit.field->name)];
    if (limit.value) value = *limit.value;
  }
  return result;
}

json to_json(const model::AdapterRequest& request) {
  json result = json::object();
  if (request.mac) result["mac"] = model::format_mac(*request.mac);
  if (request.protocol) result["protocol"] = model::to_string(*request.protocol);
  if (!request.port_group.empty()) result["port_group"] = request.port_group;
  return result;
}

Result<model::VmSpec> vm_spec_from_json(const json& value) {
  return whole_spec(value, UnknownKeys::kRefused);
}

Result<model::VmSpec> kept_vm_spec_from_json(const json& value) {
  return whole_spec(value, UnknownKeys::kIgnored);
}

Result<model::VmStatus> vm_status_from_json(const json& value) {
  JsonReader reader(value, "vm");
  model::VmStatus status;
  status.spec = read_spec(reader, UnknownKeys::kIgnored);
  status.spec.adapters.clear();
  status.revision = reader.text("revision").value_or("");
  if (const json* array = reader.array("adapters")) {
    read_adapters(reader, *array, [&status](JsonReader& one) {
      status.spec.adapters.push_back(read_numbered_adapter(one, status.spec.hw_version));
      status.adapters.push_back(read_status(one));
      return one.finish_ignoring_unknown();
    });
  }
  if (status.adapters.empty()) reader.complain("adapters", "is missing or empty");
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return status;
}

Result<model::VmChange> vm_change_from_json(const json& value) {
  JsonReader reader(value, "change");
  model::VmChange change;
  change.hw_version = reader.u32("hw_version");
  change.protocol = read_protocol(reader);
  change.adapter = reader.u32("adapter");
  change.port_group = reader.text("port_group");
  change.revision = reader.text("revision");
  change.machine = read_machine(reader, UnknownKeys::kRefused);
  if (const json* object = reader.object("limits")) {
    JsonReader limits(*object, "limits");
    for (const model::LimitField& field : model::kLimitFields) {
      const std::string name(field.name);
      if (!object->contains(name)) continue;
      const bool removed = limits.is_null(name.c_str());
      change.limits.push_back(
          {.field = &field, .value = removed ? std::nullopt : limits.u32(name.c_str())});
    }
    if (Status good = limits.finish(); !good) reader.complain("limits", good.error().message);
  }
  if (Status good = reader.finish(); !good) return std::unexpected(good.error());
  if (Status good = model::check_change(change); !good) return std::unexpected(good.error());
  return change;
}

Result<model::AdapterRequest> adapter_request_from_json(const json& value) {
  JsonReader reader(value, "adapter");
  model::AdapterRequest request{.mac = read_mac(reader),
                                .protocol = read_protocol(reader),
                                .port_group = reader.text("port_group").value_or("")};
  if (Status good = reader.finish(); !good) return std::unexpected(good.error());
  if (Status good = model::check_mac({.mac = request.mac}); !good)
    return std::unexpected(good.error());
  if (Status good = model::check_adapter_group(request.port_group); !good) {
    return std::unexpected(good.error());
  }
  return request;
}

Result<bool> connected_from_json(const json& value) {
  JsonReader reader(value, "change");
  const std::optional<bool> connected = reader.boolean("connected");
  if (Status good = reader.finish(); !good) return std::unexpected(good.error());
  if (!connected) return fail(Errc::kInvalidArgument, "change: \"connected\" is missing");
  return *connected;
}

}  // namespace paravane::api
