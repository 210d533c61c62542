#include "api/ib_module_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "json/json_reader.h"

namespace paravane::api {

using nlohmann::json;

namespace {

model::IbModuleSetting read_module_setting(JsonReader& reader) {
  model::IbModuleSetting setting;
  const auto is_enabled = reader.boolean("enabled");
  if (!is_enabled) reader.complain("enabled", "is missing");
  setting.is_enabled = is_enabled.value_or(true);
  setting.options = reader.need_text("options");
  return setting;
}

std::vector<std::string> read_texts(JsonReader& reader, const char* key) {
  std::vector<std::string> texts;
  const json* array = reader.array(key);
  if (array == nullptr) return texts;
  for (const json& element : *array) {
    if (!element.is_string()) {
      reader.complain(key, "must be texts");
      break;
    }
    texts.push_back(element.get<std::string>());
  }
  return texts;
}

}  // namespace

json to_json(const model::IbModuleSetting& setting) {
  return {{"enabled", setting.is_enabled}, {"options", setting.options}};
}

json to_json(const model::IbModuleChange& change) {
  json value = json::object();
  if (change.is_enabled) value["enabled"] = *change.is_enabled;
  if (change.options) value["options"] = *change.options;
  return value;
}

json to_json(const model::IbModuleStatus& status) {
  json value = to_json(status.setting);
  value["name"] = status.name;
  value["in_effect"] = to_json(status.in_effect);
  value["loaded"] = status.is_loaded;
  value["summary"] = status.summary;
  value["problems"] = status.problems;
  value["warnings"] = status.warnings;
  return value;
}

Result<model::IbModuleChange> ib_module_change_from_json(const json& value) {
  JsonReader reader(value, "module");
  model::IbModuleChange change{.is_enabled = reader.boolean("enabled"),
                               .options = reader.text("options")};
  if (Status good = reader.finish(); !good) return std::unexpected(good.error());
  return change;
}

Result<model::IbModuleSetting> kept_ib_module_setting_from_json(const json& value) {
  JsonReader reader(value, "module");
  model::IbModuleSetting setting = read_module_setting(reader);
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return setting;
}

Result<model::IbModuleStatus> ib_module_status_from_json(const json& value) {
  JsonReader reader(value, "module");
  model::IbModuleStatus status{.name = reader.need_text("name"),
                               .setting = read_module_setting(reader)};
  if (const json* in_effect = reader.object("in_effect"); in_effect != nullptr) {
    auto setting = kept_ib_module_setting_from_json(*in_effect);
    if (!setting) reader.complain("in_effect", setting.error().message);
    if (setting) status.in_effect = std::move(*setting);
  } else {
    reader.complain("in_effect", "is missing");
  }
  status.is_loaded = reader.boolean("loaded").value_or(false);
  status.summary = reader.text("summary").value_or("");
  status.problems = read_texts(reader, "problems");
  status.warnings = read_texts(reader, "warnings");
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return status;
}

}  // namespace paravane::api
