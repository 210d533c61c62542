#include "text/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "text/text_cell.h"

namespace paravane::text {
namespace {

std::string to_text(const TextTable::Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<std::uint64_t>(&cell)) return fmt::to_string(*number);
  if (const auto* flag = std::get_if<bool>(&cell)) return *flag ? "true" : "false";
  return "-";
}

template <typename Value>
nlohmann::ordered_json json_of(const Value& value) {
  if constexpr (std::is_same_v<Value, TextTable::None>) {
    return nullptr;
  } else {
    return value;
  }
}

// One line, columns padded to `widths`, no blanks at its end.
std::string table_line(const std::vector<std::string>& cells,
                       const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += fmt::format("{:<{}}  ", cells[i], widths[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::optional<TableFormat> parse_table_format(std::string_view text) {
  if (text == "table") return TableFormat::kTable;
  if (text == "json") return TableFormat::kJson;
  if (text == "csv") return TableFormat::kCsv;
  return std::nullopt;
}

std::string TextTable::print(TableFormat format) const {
  switch (format) {
    case TableFormat::kTable: return as_table();
    case TableFormat::kJson: return as_json();
    case TableFormat::kCsv: return as_csv();
  }
  return {};
}

std::string TextTable::as_table() const {
  std::vector<std::size_t> widths;
  widths.reserve(columns_.size());
  for (const std::string& column : columns_) widths.push_back(column.size());
  std::vector<std::vector<std::string>> lines;
  for (const auto& row : rows_) {
    std::vector<std::string>& line = lines.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      line.push_back(printable(to_text(row[i])));
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  std::vector<std::string> dashes;
  dashes.reserve(widths.size());
  for (const std::size_t width : widths) dashes.emplace_back(width, '-');
  std::string text = table_line(columns_, widths) + table_line(dashes, widths);
  for (const auto& line : lines) text += table_line(line, widths);
  return text;
}

std::string TextTable::as_csv() const {
  std::string text;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (i != 0) text += ',';
    text += csv_field(columns_[i]);
  }
  text += "\n";
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i != 0) text += ',';
      text += csv_field(to_text(row[i]));
    }
    text += "\n";
  }
  return text;
}

std::string TextTable::as_json() const {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const auto& row : rows_) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string key = json_key(columns_[i]);
      object[key] = std::visit([](const auto& value) { return json_of(value); }, row[i]);
    }
    array.push_back(std::move(object));
  }
  return array.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace paravane::text
