// How one value looks in what is printed for an operator. Of TextTable and TextRecord.

#pragma once

#include <string>

namespace paravane::control {

// Characters that could move a terminal's cursor or break a line show as '?'.
inline std::string printable(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) c = '?';
  }
  return text;
}

// RFC 4180.
inline std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

// A column's or field's title as a JSON key: without spaces, as esxcli's are.
inline std::string json_key(std::string title) {
  std::erase(title, ' ');
  return title;
}

}  // namespace paravane::control
