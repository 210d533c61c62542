#include "api/storage_json.h"

#include <fmt/core.h>

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "api/named_counts.h"
#include "json/json_reader.h"

namespace paravane::api {

using nlohmann::json;

namespace {

constexpr std::size_t kWordDigits = 16;

std::string word_text(std::uint64_t word) {
  return fmt::format("0x{:016x}", word);
}

// "0x" and 16 digits.
std::optional<std::uint64_t> parse_word(std::string_view text) {
  if (!text.starts_with("0x") || text.size() != 2 + kWordDigits) return std::nullopt;
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + 2, end, value, 16);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

std::uint64_t need_word(JsonReader& reader, const char* key) {
  const auto word = parse_word(reader.need_text(key));
  if (!word) reader.complain(key, "must be a number such as 0x0250560001a2b301");
  return word.value_or(0);
}

// nullopt: not there, null, or reported.
std::optional<std::uint64_t> word(JsonReader& reader, const char* key) {
  if (reader.is_null(key)) return std::nullopt;
  const auto text = reader.text(key);
  if (!text) return std::nullopt;
  const auto word = parse_word(*text);
  if (!word) reader.complain(key, "must be a number such as 0x5254000000770001");
  return word;
}

std::optional<std::uint16_t> port_number(JsonReader& reader, const char* key) {
  if (reader.is_null(key)) return std::nullopt;
  const auto number = reader.number(key, std::numeric_limits<std::uint16_t>::max());
  if (!number) return std::nullopt;
  return static_cast<std::uint16_t>(*number);
}

model::VmhbaSetting read_vmhba_setting(JsonReader& reader) {
  return {.port_group = reader.text("port_group").value_or(""),
          .ipv4 = reader.text("ipv4").value_or(""),
          .gateway = reader.text("gateway").value_or("")};
}

model::SrpTarget read_srp_target(JsonReader& reader) {
  return {.vmhba = reader.need_text("vmhba"),
          .address = reader.need_text("address"),
          .service = word(reader, "service"),
          .port = port_number(reader, "port"),
          .id_ext = need_word(reader, "id_ext"),
          .ioc_guid = need_word(reader, "ioc_guid")};
}

Status finished(JsonReader& reader, bool ignores_unknown) {
  return ignores_unknown ? reader.finish_ignoring_unknown() : reader.finish();
}

Result<model::VmhbaSetting> setting_from(const json& value, bool ignores_unknown) {
  JsonReader reader(value, "vmhba");
  model::VmhbaSetting setting = read_vmhba_setting(reader);
  if (Status good = finished(reader, ignores_unknown); !good) return std::unexpected(good.error());
  if (Status good = model::check_vmhba_setting(setting); !good)
    return std::unexpected(good.error());
  return setting;
}

Result<model::SrpTarget> target_from(const json& value, bool ignores_unknown) {
  JsonReader reader(value, "target");
  model::SrpTarget target = read_srp_target(reader);
  if (Status good = finished(reader, ignores_unknown); !good) return std::unexpected(good.error());
  if (Status good = model::check_srp_target(target); !good) return std::unexpected(good.error());
  return target;
}

template <typename T>
T need_state(JsonReader& reader, std::optional<T> (*parse)(std::string_view)) {
  const auto state = parse(reader.need_text("state"));
  if (!state) reader.complain("state", "is not one that this program knows");
  return state.value_or(T{});
}

}  // namespace

json to_json(const model::VmhbaSetting& setting) {
  return {{"port_group", setting.port_group}, {"ipv4", setting.ipv4}, {"gateway", setting.gateway}};
}

json to_json(const model::Vmhba& vmhba) {
  json value = to_json(vmhba.setting);
  value["name"] = vmhba.name;
  value["adapter"] = vmhba.adapter;
  value["device"] = vmhba.device;
  value["description"] = vmhba.description;
  value["port"] = vmhba.port;
  value["port_guid"] = word_text(vmhba.port_guid);
  value["initiator"] = vmhba.initiator;
  value["up"] = vmhba.is_up;
  value["targets"] = vmhba.targets;
  value["counters"] = vmhba.counters;
  value["problem"] = vmhba.problem;
  return value;
}

json to_json(const model::SrpTarget& target) {
  return {{"vmhba", target.vmhba},
          {"address", target.address},
          {"service", target.service ? json(word_text(*target.service)) : json(nullptr)},
          {"port", target.port ? json(*target.port) : json(nullptr)},
          {"id_ext", word_text(target.id_ext)},
          {"ioc_guid", word_text(target.ioc_guid)}};
}

json to_json(const model::SrpTargetStatus& status) {
  json value = to_json(status.target);
  value["number"] = status.number;
  value["named"] = status.is_named;
  value["description"] = status.description;
  value["state"] = model::to_string(status.state);
  value["luns"] = status.luns;
  value["problem"] = status.problem;
  return value;
}

json to_json(const model::LunPath& path) {
  return {{"name", path.name},
          {"vmhba", path.vmhba},
          {"target", path.target},
          {"lun", path.lun},
          {"device", path.device},
          {"adapter_identifier", path.adapter_identifier},
          {"target_identifier", path.target_identifier},
          {"state", model::to_string(path.state)},
          {"preferred", path.is_preferred},
          {"problem", path.problem}};
}

json to_json(const model::ScsiDevice& device) {
  json paths = json::array();
  for (const model::LunPath& path : device.paths) paths.push_back(to_json(path));
  return {{"name", device.name},
          {"display_name", device.display_name},
          {"vendor", device.vendor},
          {"model", device.model},
          {"revision", device.revision},
          {"bytes", device.bytes},
          {"block_bytes", device.block_bytes},
          {"read_only", device.is_read_only},
          {"thin", device.is_thin},
          {"working_path", device.working_path},
          {"paths", std::move(paths)},
          {"socket", device.socket},
          {"vm", device.vm},
          {"open", device.is_open},
          {"counters", device.counters},
          {"problem", device.problem}};
}

json to_json(const RescanRequest& request) {
  json value = json::object();
  if (request.vmhba) value["vmhba"] = *request.vmhba;
  return value;
}

Result<model::VmhbaSetting> vmhba_setting_from_json(const json& value) {
  return setting_from(value, false);
}

Result<model::SrpTarget> srp_target_from_json(const json& value) {
  return target_from(value, false);
}

Result<RescanRequest> rescan_request_from_json(const json& value) {
  JsonReader reader(value, "rescan");
  RescanRequest request{.vmhba = reader.text("vmhba")};
  if (Status good = reader.finish(); !good) return std::unexpected(good.error());
  if (!request.vmhba) return request;
  if (Status good = model::check_vmhba_name(*request.vmhba); !good)
    return std::unexpected(good.error());
  return request;
}

std::string srp_target_document(const std::string& vmhba, std::uint32_t number) {
  return fmt::format("{}.{}", vmhba, number);
}

Result<model::VmhbaSetting> kept_vmhba_setting_from_json(const json& value) {
  return setting_from(value, true);
}

Result<model::SrpTarget> kept_srp_target_from_json(const json& value) {
  return target_from(value, true);
}

Result<model::Vmhba> vmhba_from_json(const json& value) {
  JsonReader reader(value, "vmhba");
  model::Vmhba vmhba{.name = reader.need_text("name"),
                     .adapter = reader.need_text("adapter"),
                     .device = reader.need_text("device"),
                     .description = reader.text("description").value_or(""),
                     .port = reader.need_u32("port"),
                     .port_guid = need_word(reader, "port_guid"),
                     .initiator = reader.need_text("initiator"),
                     .setting = read_vmhba_setting(reader),
                     .is_up = reader.boolean("up").value_or(false),
                     .targets = reader.need_u32("targets"),
                     .counters = read_named_counts(reader, "counters", model::kMaxStorageCounters),
                     .problem = reader.text("problem").value_or("")};
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return vmhba;
}

Result<model::SrpTargetStatus> srp_target_status_from_json(const json& value) {
  JsonReader reader(value, "target");
  model::SrpTargetStatus status{.target = read_srp_target(reader),
                                .number = reader.need_u32("number"),
                                .is_named = reader.boolean("named").value_or(false),
                                .description = reader.text("description").value_or(""),
                                .state = need_state(reader, model::parse_target_state),
                                .luns = reader.need_u32("luns"),
                                .problem = reader.text("problem").value_or("")};
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return status;
}

Result<model::LunPath> lun_path_from_json(const json& value) {
  JsonReader reader(value, "path");
  model::LunPath path{.name = reader.need_text("name"),
                      .vmhba = reader.need_text("vmhba"),
                      .target = reader.need_u32("target"),
                      .lun = reader.need_u32("lun"),
                      .device = reader.text("device").value_or(""),
                      .adapter_identifier = reader.text("adapter_identifier").value_or(""),
                      .target_identifier = reader.text("target_identifier").value_or(""),
                      .state = need_state(reader, model::parse_path_state),
                      .is_preferred = reader.boolean("preferred").value_or(false),
                      .problem = reader.text("problem").value_or("")};
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return path;
}

Result<model::ScsiDevice> scsi_device_from_json(const json& value) {
  JsonReader reader(value, "device");
  model::ScsiDevice device{
      .name = reader.need_text("name"),
      .display_name = reader.text("display_name").value_or(""),
      .vendor = reader.text("vendor").value_or(""),
      .model = reader.text("model").value_or(""),
      .revision = reader.text("revision").value_or(""),
      .bytes = reader.need_number("bytes"),
      .block_bytes = reader.need_u32("block_bytes"),
      .is_read_only = reader.boolean("read_only").value_or(false),
      .is_thin = reader.boolean("thin").value_or(false),
      .working_path = reader.text("working_path").value_or(""),
      .socket = reader.text("socket").value_or(""),
      .vm = reader.text("vm").value_or(""),
      .is_open = reader.boolean("open").value_or(false),
      .counters = read_named_counts(reader, "counters", model::kMaxStorageCounters),
      .problem = reader.text("problem").value_or("")};
  const json* paths = reader.array("paths");
  if (paths == nullptr) reader.complain("paths", "is missing");
  for (const json& element : paths == nullptr ? json::array() : *paths) {
    auto path = lun_path_from_json(element);
    if (!path) {
      reader.complain("paths", path.error().message);
      break;
    }
    device.paths.push_back(std::move(*path));
  }
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return device;
}

nlohmann::json rescan_status_to_json(bool is_running) {
  return {{"is_running", is_running}};
}

Result<bool> rescan_status_from_json(const nlohmann::json& value) {
  JsonReader reader(value, "rescan");
  const bool is_running = reader.boolean("is_running").value_or(false);
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return is_running;
}

}  // namespace paravane::api
