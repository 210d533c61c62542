#include "text/text_records.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "text/text_cell.h"

namespace paravane::text {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kIndent = 3;
constexpr std::size_t kInnerIndent = 6;  // of a field's records, beyond their field

struct ToText {
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(std::uint64_t number) const { return fmt::to_string(number); }
  std::string operator()(std::int64_t number) const { return fmt::to_string(number); }
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  std::string operator()(const std::vector<std::string>& words) const {
    return fmt::format("{}", fmt::join(words, ", "));
  }
  std::string operator()(const std::vector<TextRecord>& records) const;
};

Json as_json(std::span<const TextRecord> records) {
  Json array = Json::array();
  for (const TextRecord& record : records) {
    Json object = Json::object();
    for (const auto& [name, value] : record.fields) {
      const std::string key = json_key(name);
      if (const auto* inner = std::get_if<std::vector<TextRecord>>(&value)) {
        object[key] = as_json(*inner);
      } else {
        std::visit(
            [&](const auto& plain) {
              if constexpr (!std::is_same_v<std::decay_t<decltype(plain)>,
                                            std::vector<TextRecord>>) {
                object[key] = plain;
              }
            },
            value);
      }
    }
    array.push_back(std::move(object));
  }
  return array;
}

std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string ToText::operator()(const std::vector<TextRecord>& records) const {
  return dump(as_json(records), -1);
}

std::string as_lines(std::span<const TextRecord> records, std::size_t indent) {
  std::string text;
  const std::string blanks(indent, ' ');
  for (const TextRecord& record : records) {
    if (!text.empty()) text += "\n";
    if (!record.title.empty()) text += printable(record.title) + "\n";
    for (const auto& [name, value] : record.fields) {
      const auto* inner = std::get_if<std::vector<TextRecord>>(&value);
      const std::string shown = inner != nullptr ? "" : printable(std::visit(ToText{}, value));
      text += fmt::format("{}{}:{}{}\n", blanks, name, shown.empty() ? "" : " ", shown);
      if (inner != nullptr) text += as_lines(*inner, indent + kInnerIndent);
    }
  }
  return text;
}

std::string as_csv(std::span<const TextRecord> records) {
  if (records.empty()) return "\n";
  std::vector<std::string> cells;
  for (const auto& [name, value] : records.front().fields) cells.push_back(csv_field(name));
  std::string text = fmt::format("{}\n", fmt::join(cells, ","));
  for (const TextRecord& record : records) {
    cells.clear();
    for (const auto& [name, value] : record.fields) {
      cells.push_back(csv_field(std::visit(ToText{}, value)));
    }
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return text;
}

}  // namespace

std::string print_records(std::span<const TextRecord> records, TableFormat format) {
  switch (format) {
    case TableFormat::kTable: return as_lines(records, kIndent);
    case TableFormat::kJson: return dump(as_json(records), 2) + "\n";
    case TableFormat::kCsv: return as_csv(records);
  }
  return {};
}

}  // namespace paravane::text
