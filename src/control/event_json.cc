#include "control/event_json.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "control/json_reader.h"

namespace paravane::control {

using nlohmann::json;

namespace {

// What format_time() writes, and nothing else.
std::optional<std::chrono::system_clock::time_point> parse_time(const std::string& text) {
  constexpr std::string_view kShape = "0000-00-00T00:00:00.000Z";
  if (text.size() != kShape.size()) return std::nullopt;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == '0' ? !digit : text[i] != kShape[i]) return std::nullopt;
  }
  const auto number = [&text](std::size_t at, std::size_t digits) {
    int value = 0;
    std::from_chars(text.data() + at, text.data() + at + digits, value);
    return value;
  };
  const std::chrono::year_month_day day{std::chrono::year(number(0, 4)),
                                        std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                        std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  if (!day.ok()) return std::nullopt;
  return std::chrono::sys_days(day) + std::chrono::hours(number(11, 2)) +
         std::chrono::minutes(number(14, 2)) + std::chrono::seconds(number(17, 2)) +
         std::chrono::milliseconds(number(20, 3));
}

Result<Event> read_event(const json& value) {
  JsonReader reader(value, "event");
  Event event{.type = reader.need_text("type")};
  event.number = reader.need_number("number");
  event.text = reader.need_text("text");
  const auto time = parse_time(reader.need_text("time"));
  if (!time) reader.complain("time", "must be a time in UTC with milliseconds");
  const auto severity = parse_severity(reader.need_text("severity"));
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

json to_json(const Event& event) {
  return {{"number", event.number}, {"time", format_time(event.time)},
          {"type", event.type},     {"severity", std::string(to_string(event.severity))},
          {"fields", event.fields}, {"text", event.text}};
}

json to_json(const EventPage& page) {
  json events = json::array();
  for (const Event& event : page.events) events.push_back(to_json(event));
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
      Result<Event> event = read_event(element);
      if (!event) return std::unexpected(event.error());
      page.events.push_back(std::move(*event));
    }
  }
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return page;
}

}  // namespace paravane::control
