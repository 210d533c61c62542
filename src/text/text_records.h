// TextRecord: one object for an operator, with one line per field, in esxcli's format for objects
// that are too wide for a table:
//
//   vmk1
//      Name: vmk1
//      MTU: 9000
//
// The other formats are those of TextTable: JSON (an array of objects) and CSV.

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
  // A list of words is one line, with commas; records are printed below their field.
  using Value = std::variant<std::string, std::uint64_t, std::int64_t, bool,
                             std::vector<std::string>, std::vector<TextRecord>>;

  std::string title;  // the line above it; empty: none. Not a part of JSON and CSV
  std::vector<std::pair<std::string, Value>> fields;
};

// Ends with a newline, but for no records as a table: that is no text at all.
// REQUIRES: all have the same fields (CSV has one header line).
std::string print_records(std::span<const TextRecord> records, TableFormat format);

}  // namespace paravane::text
