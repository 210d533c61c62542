#include "api/nic_dcb_json.h"

#include <fmt/core.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace paravane::api {

using model::DcbApp;
using model::DcbEts;
using model::DcbPfc;
using model::NicDcb;
using nlohmann::json;

namespace {

json directions_json(const model::PauseDirections& directions) {
  return {{"rx", directions.rx}, {"tx", directions.tx}};
}

model::PauseDirections read_directions(JsonReader& reader) {
  return {.rx = reader.boolean("rx").value_or(false), .tx = reader.boolean("tx").value_or(false)};
}

// Eight numbers, one for each class or priority.
template <typename T>
std::array<T, model::kDcbClasses> read_eight(JsonReader& reader, const char* key) {
  std::array<T, model::kDcbClasses> values{};
  const json* array = reader.array(key);
  if (array == nullptr) return values;
  if (array->size() != values.size()) {
    reader.complain(key, "does not have eight numbers");
    return values;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const json& element = (*array)[i];
    if (!element.is_number_unsigned() ||
        element.get<std::uint64_t>() > std::numeric_limits<T>::max()) {
      reader.complain(key, "does not have eight numbers");
      return values;
    }
    values.at(i) = element.get<T>();
  }
  return values;
}

std::uint8_t need_byte(JsonReader& reader, const char* key) {
  return static_cast<std::uint8_t>(reader.need_number(key, 0xFF));
}

json ets_json(const DcbEts& ets) {
  return {{"willing", ets.willing},
          {"classes", ets.classes},
          {"credit_based_shaper", ets.credit_based_shaper},
          {"tx_percent", ets.tx_percent},
          {"rx_percent", ets.rx_percent},
          {"algorithms", ets.algorithms},
          {"class_of_priority", ets.class_of_priority},
          {"recommended_percent", ets.recommended_percent},
          {"recommended_algorithms", ets.recommended_algorithms},
          {"recommended_class_of_priority", ets.recommended_class_of_priority}};
}

Result<DcbEts> ets_from_json(const json& value) {
  JsonReader reader(value, "ets");
  DcbEts ets{.willing = reader.boolean("willing").value_or(false),
             .classes = need_byte(reader, "classes"),
             .credit_based_shaper = reader.boolean("credit_based_shaper").value_or(false),
             .tx_percent = read_eight<std::uint8_t>(reader, "tx_percent"),
             .rx_percent = read_eight<std::uint8_t>(reader, "rx_percent"),
             .algorithms = read_eight<std::uint8_t>(reader, "algorithms"),
             .class_of_priority = read_eight<std::uint8_t>(reader, "class_of_priority"),
             .recommended_percent = read_eight<std::uint8_t>(reader, "recommended_percent"),
             .recommended_algorithms = read_eight<std::uint8_t>(reader, "recommended_algorithms"),
             .recommended_class_of_priority =
                 read_eight<std::uint8_t>(reader, "recommended_class_of_priority")};
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return ets;
}

json pfc_json(const DcbPfc& pfc) {
  return {{"classes", pfc.classes},
          {"priorities", priorities_json(pfc.priorities)},
          {"bypasses_macsec", pfc.bypasses_macsec},
          {"delay", pfc.delay},
          {"sent", pfc.sent},
          {"received", pfc.received}};
}

Result<DcbPfc> pfc_from_json(const json& value) {
  JsonReader reader(value, "pfc");
  DcbPfc pfc{.classes = need_byte(reader, "classes"),
             .priorities = read_priorities(reader, "priorities").value_or(0),
             .bypasses_macsec = reader.boolean("bypasses_macsec").value_or(false),
             .delay = static_cast<std::uint16_t>(reader.need_number("delay", 0xFFFF)),
             .sent = read_eight<std::uint64_t>(reader, "sent"),
             .received = read_eight<std::uint64_t>(reader, "received")};
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return pfc;
}

json apps_json(const std::vector<DcbApp>& apps) {
  json array = json::array();
  for (const DcbApp& app : apps) {
    array.push_back({{"selector", model::to_string(app.selector)},
                     {"protocol", app.protocol},
                     {"priority", app.priority}});
  }
  return array;
}

Result<DcbApp> app_from_json(const json& value) {
  JsonReader reader(value, "app");
  const auto selector = model::parse_dcb_selector(reader.need_text("selector"));
  if (!selector) reader.complain("selector", "is not a valid kind of protocol");
  const DcbApp app{.selector = selector.value_or(model::DcbSelector::kUnknown),
                   .protocol = static_cast<std::uint16_t>(reader.need_number("protocol", 0xFFFF)),
                   .priority = need_byte(reader, "priority")};
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return app;
}

template <typename T>
std::optional<T> read_object(JsonReader& reader, const char* key, Result<T> (*read)(const json&)) {
  if (reader.is_null(key)) return std::nullopt;
  const json* object = reader.object(key);
  if (object == nullptr) return std::nullopt;
  Result<T> value = read(*object);
  if (value) return std::move(*value);
  reader.complain(key, value.error().message);
  return std::nullopt;
}

std::vector<DcbApp> read_apps(JsonReader& reader, const char* key) {
  std::vector<DcbApp> apps;
  const json* array = reader.array(key);
  if (array == nullptr) return apps;
  if (array->size() > model::kMaxDcbApps) reader.complain(key, "has too many rules");
  for (const json& element : *array) {
    const Result<DcbApp> app = app_from_json(element);
    if (!app) {
      reader.complain(key, app.error().message);
      return apps;
    }
    apps.push_back(*app);
  }
  return apps;
}

Result<model::NicPause> pause_from_json(const json& value) {
  JsonReader reader(value, "pause");
  model::NicPause pause{.set = read_directions(reader),
                        .auto_negotiation = reader.boolean("auto_negotiation").value_or(false)};
  if (!reader.is_null("negotiated")) {
    if (const json* negotiated = reader.object("negotiated")) {
      JsonReader inner(*negotiated, "negotiated");
      pause.negotiated = read_directions(inner);
      if (Status good = inner.finish_ignoring_unknown(); !good) {
        return std::unexpected(good.error());
      }
    }
  }
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return pause;
}

}  // namespace

json to_json(const std::optional<model::NicPause>& pause) {
  if (!pause) return nullptr;
  json value = directions_json(pause->set);
  value["auto_negotiation"] = pause->auto_negotiation;
  value["negotiated"] = pause->negotiated ? directions_json(*pause->negotiated) : json(nullptr);
  return value;
}

std::optional<model::NicPause> read_pause(JsonReader& reader, const char* key) {
  return read_object(reader, key, pause_from_json);
}

json priorities_json(const std::optional<std::uint8_t>& priorities) {
  if (!priorities) return nullptr;
  json array = json::array();
  for (unsigned i = 0; i < model::kDcbClasses; ++i) {
    if ((*priorities >> i & 1U) != 0) array.push_back(i);
  }
  return array;
}

std::optional<std::uint8_t> read_priorities(JsonReader& reader, const char* key) {
  if (reader.is_null(key)) return std::nullopt;
  const json* array = reader.array(key);
  if (array == nullptr) return std::nullopt;
  unsigned priorities = 0;
  for (const json& element : *array) {
    if (!element.is_number_unsigned() || element.get<std::uint64_t>() >= model::kDcbClasses) {
      reader.complain(key, "has a number that is not a priority");
      return std::nullopt;
    }
    priorities |= 1U << element.get<unsigned>();
  }
  return static_cast<std::uint8_t>(priorities);
}

json to_json(const NicDcb& dcb) {
  return {{"name", dcb.name},
          {"mode", model::to_string(dcb.mode)},
          {"managed_by_host", dcb.managed_by_host},
          {"ets", dcb.ets ? ets_json(*dcb.ets) : json(nullptr)},
          {"pfc", dcb.pfc ? pfc_json(*dcb.pfc) : json(nullptr)},
          {"apps", apps_json(dcb.apps)}};
}

Result<NicDcb> nic_dcb_from_json(const json& value) {
  JsonReader reader(value, "dcb");
  NicDcb dcb{.name = reader.need_text("name"),
             .managed_by_host = reader.boolean("managed_by_host").value_or(false),
             .ets = read_object(reader, "ets", ets_from_json),
             .pfc = read_object(reader, "pfc", pfc_from_json),
             .apps = read_apps(reader, "apps")};
  const auto mode = model::parse_dcbx_mode(reader.need_text("mode"));
  if (!mode) reader.complain("mode", "is not a valid mode of DCBX");
  dcb.mode = mode.value_or(model::DcbxMode::kUnknown);
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return dcb;
}

}  // namespace paravane::api
