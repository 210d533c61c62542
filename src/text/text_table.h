// TextTable holds the rows that a command lists for an operator, and prints them in three formats:
// a table in esxcli's style (header row, dashed row, columns left-aligned, two spaces apart), JSON
// (an array of objects), and CSV (RFC 4180, with a header line).

#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace paravane::text {

enum class TableFormat : std::uint8_t { kTable, kJson, kCsv };
std::optional<TableFormat> parse_table_format(std::string_view text);

class TextTable {
 public:
  struct None {};  // no value: "-", in JSON null
  using Cell = std::variant<std::string, std::uint64_t, bool, None>;

  TextTable(std::initializer_list<std::string_view> columns)
      : columns_(columns.begin(), columns.end()) {}

  // REQUIRES: as many cells as columns.
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }

  // Ends with a newline. Characters that could move a terminal's cursor or
  // break a line show as '?' in tables. JSON keys are the column titles without
  // spaces, as esxcli's are.
  std::string print(TableFormat format) const;

 private:
  std::string as_table() const;
  std::string as_csv() const;
  std::string as_json() const;

  std::vector<std::string> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace paravane::text
