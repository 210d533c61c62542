// TextRecord is one object as it is shown to an operator, with one line per field. This is esxcli's
// format for objects that are too wide for a table:
//
//   vmk1
//      Name: vmk1
//      MTU: 9000
//
// Records can also be printed as JSON (an array of objects) and as CSV, like the rows of a
// TextTable.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "text/text_table.h"

namespace paravane::text {

struct TextRecord {
  // A list of strings is printed on one line, separated by commas. Records are printed below their
  // field.
  using Value = std::variant<std::string, std::uint64_t, std::int64_t, bool,
                             std::vector<std::string>, std::vector<TextRecord>>;

  std::string title;  // the line above it; empty: none. Not a part of JSON and CSV
  std::vector<std::pair<std::string, Value>> fields;
};

// The text ends with a newline; without records, the table format is an empty text. REQUIRES: all
// records have the same fields (CSV has one header line).
std::string print_records(std::span<const TextRecord> records, TableFormat format);

}  // namespace paravane::text
