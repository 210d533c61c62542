#include "api/event_json.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "json/json_reader.h"

namespace paravane::api {

using nlohmann::json;

namespace {

Result<model::Event> read_event(const json& value) {
  JsonReader reader(value, "event");
  model::Event event{.type = reader.need_text("type")};
  event.number = reader.need_number("number");
  event.text = reader.need_text("text");
  const auto time = model::parse_time(reader.need_text("time"));
  if (!time) reader.complain("time", "must be a time in UTC with milliseconds");
  const auto severity = model::parse_severity(reader.need_text("severity"));
  if (!severity) reader.complain("severity", "must be info, warning or error");
  if (const json* fields = reader.object("fields")) {
    for (const auto& [name, field] : fields->items()) {
      if (field.is_string()) event.fields[name] = field.get<std::string>();
    }
  }
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  event.time = *time;
  event.severity = *severity;
  return event;
}

}  // namespace

json to_json(const model::Event& event) {
  return {{"number", event.number}, {"time", model::format_time(event.time)},
          {"type", event.type},     {"severity", std::string(model::to_string(event.severity))},
          {"fields", event.fields}, {"text", event.text}};
}

json to_json(const EventPage& page) {
  json events = json::array();
  for (const model::Event& event : page.events) events.push_back(to_json(event));
  return {{"boot", page.boot},
          {"next_after", page.next_after},
          {"lost", page.lost},
          {"events", std::move(events)}};
}

Result<EventPage> event_page_from_json(const json& value) {
  JsonReader reader(value, "events");
  EventPage page{.boot = reader.need_text("boot")};
  page.next_after = reader.need_number("next_after");
  page.lost = reader.need_number("lost");
  if (const json* events = reader.array("events")) {
    for (const json& element : *events) {
      Result<model::Event> event = read_event(element);
      if (!event) return std::unexpected(event.error());
      page.events.push_back(std::move(*event));
    }
  }
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return page;
}

}  // namespace paravane::api
