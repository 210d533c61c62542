#include "scsi/text.h"

#include <fmt/core.h>

#include <string_view>

namespace paravane::scsi {

std::string clean_text(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    const char c = static_cast<char>(byte);
    if (c == '\0') break;
    text += c >= ' ' && c <= '~' ? c : '?';
  }
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::string clean_name(std::span<const std::byte> bytes) {
  constexpr std::string_view kOther = "-._:+";
  std::string name = clean_text(bytes);
  for (char& c : name) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || kOther.find(c) != std::string_view::npos;
    if (!is_plain) c = '_';
  }
  return name;
}

std::string hex_text(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<int>(byte));
  return text;
}

}  // namespace paravane::scsi
