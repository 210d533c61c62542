// How text looks in what is printed for an operator.

#pragma once

#include <string>
#include <string_view>

namespace paravane::text {

// Of UTF-8, characters that could move a terminal's cursor or break a line show as '?': those of
// ASCII, and U+0080 to U+009F, by which terminals are told the same.
inline std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool of_two = byte == 0xC2 && next >= 0x80 && next < 0xA0;
    if (of_two) ++i;
    shown += of_two || byte < 0x20 || byte == 0x7F ? '?' : text[i];
  }
  return shown;
}

// The same, with its lines.
inline std::string printable_lines(std::string_view text) {
  std::string shown;
  for (;;) {
    const std::size_t end = text.find('\n');
    shown += printable(text.substr(0, end));
    if (end == std::string_view::npos) return shown;
    shown += '\n';
    text.remove_prefix(end + 1);
  }
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

}  // namespace paravane::text
