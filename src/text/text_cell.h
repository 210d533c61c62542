// Formats single values for an operator, in tables, CSV and JSON. Characters that are invisible, or
// that would control a terminal, are replaced.

#pragma once

#include <string>
#include <string_view>

namespace paravane::text {

// How many bytes the character at the start of UTF-8 text has if a terminal would obey it
// instead of showing it; 0: it shows it. Those are control characters of ASCII and U+0080 to
// U+009F, and what is invisible or turns the direction of what follows (Unicode's
// Bidi_Control, and U+200B to U+200F, U+2028 to U+202E, U+2060 to U+206F, U+FEFF).
inline std::size_t unseen_bytes(std::string_view text) {
  const auto byte = [text](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto is_within = [](unsigned value, unsigned first, unsigned last) {
    return first <= value && value <= last;
  };
  if (byte(0) < 0x20 || byte(0) == 0x7F) return 1;
  if (byte(0) == 0xC2 && is_within(byte(1), 0x80, 0x9F)) return 2;
  if (byte(0) == 0xD8 && byte(1) == 0x9C) return 2;  // U+061C
  const bool of_20 = byte(0) == 0xE2 && byte(1) == 0x80 &&
                     (is_within(byte(2), 0x8B, 0x8F) || is_within(byte(2), 0xA8, 0xAE));
  const bool of_206 = byte(0) == 0xE2 && byte(1) == 0x81 && is_within(byte(2), 0xA0, 0xAF);
  const bool is_mark = byte(0) == 0xEF && byte(1) == 0xBB && byte(2) == 0xBF;  // U+FEFF
  return of_20 || of_206 || is_mark ? 3 : 0;
}

// Replaces each character that is not shown by '?'.
inline std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const std::size_t unseen = unseen_bytes(text);
    shown += unseen > 0 ? '?' : text.front();
    text.remove_prefix(unseen > 0 ? unseen : 1);
  }
  return shown;
}

// The same, but newlines are kept.
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
