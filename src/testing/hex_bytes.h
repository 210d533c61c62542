// hex_bytes(): bytes as a person writes them, "12 0a ff", spaces as one likes.
//
// A pure function; any thread.

#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace paravane::fake {

inline std::vector<std::byte> hex_bytes(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::vector<std::byte> bytes;
  unsigned value = 0;
  unsigned digits = 0;
  for (const char c : text) {
    if (c == ' ') continue;
    value = value * 16 + static_cast<unsigned>(kDigits.find(c));
    if (++digits % 2 == 0) {
      bytes.push_back(static_cast<std::byte>(value));
      value = 0;
    }
  }
  return bytes;
}

}  // namespace paravane::fake
