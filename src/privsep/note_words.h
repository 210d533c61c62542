// The words of a note's text, between blanks.
//
// Pure functions; any thread.

#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace paravane::privsep {

// Removes the first word and the blank after it from `text`, and returns the word; empty if `text`
// is empty.
inline std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

// False: `word` is not a number from its first to its last character.
inline bool read_number(std::string_view word, std::uint32_t& number) {
  const auto [rest, error] = std::from_chars(word.begin(), word.end(), number);
  return error == std::errc{} && rest == word.end();
}

}  // namespace paravane::privsep
