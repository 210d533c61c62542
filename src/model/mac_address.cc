#include "model/mac_address.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/stable_hash.h"

namespace paravane::model {
namespace {

std::optional<std::uint8_t> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<std::uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint8_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<std::uint8_t>(c - 'A' + 10);
  return std::nullopt;
}

}  // namespace

std::optional<MacAddress> parse_mac(std::string_view text) {
  if (text.size() != 17) return std::nullopt;
  const char separator = text[2];
  if (separator != ':' && separator != '-') return std::nullopt;
  MacAddress mac{};
  for (std::size_t i = 0; i < mac.size(); ++i) {
    const auto high = hex_digit(text[i * 3]);
    const auto low = hex_digit(text[i * 3 + 1]);
    if (!high || !low || (i < 5 && text[i * 3 + 2] != separator)) return std::nullopt;
    mac[i] = static_cast<std::uint8_t>((*high << 4) | *low);
  }
  return mac;
}

std::string format_mac(const MacAddress& mac) {
  return fmt::format("{:02x}", fmt::join(mac, ":"));
}

bool is_unicast(const MacAddress& mac) {
  return (mac[0] & 1) == 0 && std::ranges::any_of(mac, [](std::uint8_t byte) { return byte != 0; });
}

MacAddress mac_for_name(std::string_view name, unsigned attempt) {
  const std::uint64_t hash = stable_hash(name, attempt);
  return {0x02,
          0x50,
          0x56,
          static_cast<std::uint8_t>(hash >> 16),
          static_cast<std::uint8_t>(hash >> 8),
          static_cast<std::uint8_t>(hash)};
}

}  // namespace paravane::model
