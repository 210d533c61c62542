#include "cli/event_output.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "control/event_json.h"
#include "control/text_cell.h"
#include "control/vm_json.h"

namespace paravane::cli {
namespace {

using control::Event;
using control::TableFormat;

// "vm=db1 adapter=1", in the order of names.
std::string fields_of(const Event& event) {
  std::string text;
  for (const auto& [name, value] : event.fields) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

control::TextTable table_of(const std::vector<Event>& events) {
  control::TextTable table({"Number", "Time", "Severity", "Type", "Fields", "Text"});
  for (const Event& event : events) {
    table.add({event.number, control::format_time(event.time),
               std::string(to_string(event.severity)), event.type, fields_of(event), event.text});
  }
  return table;
}

// The text of a table without its first line.
std::string without_head(std::string text) {
  text.erase(0, text.find('\n') + 1);
  return text;
}

}  // namespace

std::string print_events(const std::vector<Event>& events, TableFormat format) {
  if (format != TableFormat::kJson) return table_of(events).print(format);
  nlohmann::json array = nlohmann::json::array();
  for (const Event& event : events) array.push_back(control::to_json(event));
  return control::print_json(array) + "\n";
}

std::string print_event_lines(const std::vector<Event>& events, TableFormat format) {
  if (events.empty()) return {};
  if (format == TableFormat::kCsv) return without_head(table_of(events).print(format));
  std::string text;
  for (const Event& event : events) {
    if (format == TableFormat::kJson) {
      text += control::print_json(control::to_json(event)) + "\n";
    } else {
      text += control::printable(fmt::format("{} {:7} {:22} {}", control::format_time(event.time),
                                             to_string(event.severity), event.type, event.text)) +
              "\n";
    }
  }
  return text;
}

}  // namespace paravane::cli
