#include "cli/event_output.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "api/event_json.h"
#include "json/json_text.h"
#include "text/text_cell.h"

namespace paravane::cli {
namespace {

using model::Event;

// "vm=db1 adapter=1", in the order of names.
std::string fields_of(const model::Event& event) {
  std::string text;
  for (const auto& [name, value] : event.fields) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

text::TextTable table_of(const std::vector<model::Event>& events) {
  text::TextTable table({"Number", "Time", "Severity", "Type", "Fields", "Text"});
  for (const model::Event& event : events) {
    table.add({event.number, model::format_time(event.time),
               std::string(model::to_string(event.severity)), event.type, fields_of(event),
               event.text});
  }
  return table;
}

// The text of a table without its first line.
std::string without_head(std::string text) {
  text.erase(0, text.find('\n') + 1);
  return text;
}

}  // namespace

std::string print_events(const std::vector<model::Event>& events, text::TableFormat format) {
  if (format != text::TableFormat::kJson) return table_of(events).print(format);
  nlohmann::json array = nlohmann::json::array();
  for (const model::Event& event : events) array.push_back(api::to_json(event));
  return print_json(array) + "\n";
}

std::string print_event_lines(const std::vector<model::Event>& events, text::TableFormat format) {
  if (events.empty()) return {};
  if (format == text::TableFormat::kCsv) return without_head(table_of(events).print(format));
  std::string text;
  for (const model::Event& event : events) {
    if (format == text::TableFormat::kJson) {
      text += print_json(api::to_json(event)) + "\n";
    } else {
      text +=
          text::printable(fmt::format("{} {:7} {:22} {}", model::format_time(event.time),
                                      model::to_string(event.severity), event.type, event.text)) +
          "\n";
    }
  }
  return text;
}

}  // namespace paravane::cli
