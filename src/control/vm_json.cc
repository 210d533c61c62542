#include "control/vm_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/json_reader.h"

namespace paravane::control {

using nlohmann::json;

namespace {

constexpr std::uint64_t kMaxU32 = 0xFFFFFFFF;

VmLimits read_limits(JsonReader& spec) {
  VmLimits limits;
  const json* object = spec.object("limits");
  if (object == nullptr) return limits;
  JsonReader reader(*object, "limits");
  for (const LimitField& field : kLimitFields) {
    const auto value = reader.number(std::string(field.name).c_str(), kMaxU32);
    if (value) limits.*field.member = static_cast<std::uint32_t>(*value);
  }
  if (const Status good = reader.finish(); !good) spec.complain("limits", good.error().message);
  return limits;
}

VmSpec read_spec(JsonReader& reader) {
  VmSpec spec;
  spec.name = reader.need_text("name");
  if (const auto text = reader.text("mac")) {
    spec.mac = parse_mac(*text);
    if (!spec.mac) reader.complain("mac", "must look like 02:50:56:12:34:56");
  }
  if (const auto version = reader.number("version", kMaxU32)) {
    spec.version = static_cast<std::uint32_t>(*version);
  }
  if (const auto text = reader.text("doorbells")) {
    const auto doorbells = parse_doorbells(*text);
    if (!doorbells) reader.complain("doorbells", "must be \"mapped\" or \"trapped\"");
    spec.doorbells = doorbells.value_or(Doorbells::kMapped);
  }
  spec.limits = read_limits(reader);
  return spec;
}

// Finds a key that stands twice in one object; nlohmann keeps the last silently.
class DuplicateKeys {
 public:
  bool operator()(int /*depth*/, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) open_.emplace_back();
    if (event == json::parse_event_t::object_end && !open_.empty()) open_.pop_back();
    if (event == json::parse_event_t::key && !open_.empty() && found_.empty()) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!open_.back().insert(key).second) found_ = key;
    }
    return true;
  }
  const std::string& found() const { return found_; }

 private:
  std::vector<std::set<std::string>> open_;
  std::string found_;
};

}  // namespace

json to_json(const VmSpec& spec) {
  json limits = json::object();
  for (const LimitField& field : kLimitFields) {
    if (const auto value = spec.limits.*field.member) limits[std::string(field.name)] = *value;
  }
  json result = {{"name", spec.name},
                 {"version", spec.version},
                 {"doorbells", to_string(spec.doorbells)},
                 {"limits", std::move(limits)}};
  if (spec.mac) result["mac"] = format_mac(*spec.mac);
  return result;
}

json to_json(const VmStatus& status) {
  json result = to_json(status.spec);
  result["socket"] = status.socket;
  result["state"] = to_string(status.state);
  result["pid"] = status.pid;
  result["problem"] = status.problem;
  return result;
}

Result<VmSpec> vm_spec_from_json(const json& value) {
  JsonReader reader(value, "vm");
  VmSpec spec = read_spec(reader);
  if (Status good = reader.finish(); !good) return std::unexpected(good.error());
  if (Status good = check_spec(spec); !good) return std::unexpected(good.error());
  return spec;
}

Result<VmStatus> vm_status_from_json(const json& value) {
  JsonReader reader(value, "vm");
  VmStatus status;
  status.spec = read_spec(reader);
  status.socket = reader.need_text("socket");
  status.state = parse_vm_state(reader.need_text("state")).value_or(VmState::kFailed);
  status.pid = static_cast<int>(reader.need_number("pid", 0x7FFFFFFF));
  status.problem = reader.need_text("problem");
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return status;
}

Result<json> parse_json(std::string_view text) {
  DuplicateKeys duplicates;
  json value = json::parse(
      text.begin(), text.end(),
      [&duplicates](int depth, json::parse_event_t event, json& parsed) {
        return duplicates(depth, event, parsed);
      },
      false);
  if (value.is_discarded()) return fail(Errc::kInvalidArgument, "this is not JSON");
  if (!duplicates.found().empty()) {
    return fail(Errc::kInvalidArgument, fmt::format("key \"{}\" stands twice", duplicates.found()));
  }
  return value;
}

std::string print_json(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace paravane::control
