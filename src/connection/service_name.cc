#include "connection/service_name.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "wire/infiniband/device_management.h"

namespace paravane::connection {

std::string_view text_of_field(std::span<const char> field) {
  const auto end = std::ranges::find(field, '\0');
  return {field.data(), static_cast<std::size_t>(end - field.begin())};
}

std::string printable_text(std::span<const char> field) {
  std::string text(text_of_field(field));
  for (char& letter : text) {
    if (letter < ' ' || letter > '~') letter = '?';
  }
  text.erase(text.find_last_not_of(' ') + 1);
  text.erase(0, text.find_first_not_of(' '));
  return text;
}

bool is_srp_name(std::string_view name) {
  return name.starts_with(wire::infiniband::kSrpServicePrefix);
}

std::optional<std::uint64_t> id_extension_of(std::string_view name) {
  constexpr std::size_t kDigits = 16;
  if (!is_srp_name(name)) return std::nullopt;
  const std::string_view digits = name.substr(wire::infiniband::kSrpServicePrefix.size());
  if (digits.size() != kDigits) return std::nullopt;
  std::uint64_t extension = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), extension, 16);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return extension;
}

}  // namespace paravane::connection
