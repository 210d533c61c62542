#include "base/ipv4_interface.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <bit>
#include <charconv>

namespace paravane {
std::string format_ipv4(std::uint32_t address) {
  return fmt::format("{}.{}.{}.{}", address >> 24, (address >> 16) & 0xFF, (address >> 8) & 0xFF,
                     address & 0xFF);
}

std::string format_ipv4(const Ipv4Interface& value) {
  return fmt::format("{}/{}", format_ipv4(value.address), value.prefix);
}

std::optional<std::uint32_t> parse_ipv4(std::string_view text) {
  in_addr address{};
  if (text.size() > INET_ADDRSTRLEN) return std::nullopt;
  if (::inet_pton(AF_INET, std::string(text).c_str(), &address) != 1) return std::nullopt;
  return ntohl(address.s_addr);
}

std::optional<Ipv4Interface> parse_ipv4_interface(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = parse_ipv4(text.substr(0, slash));
  if (!address || slash == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(slash + 1);
  unsigned prefix = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), prefix);
  if (parsed.ec != std::errc{} || parsed.ptr != digits.data() + digits.size() || prefix > 32) {
    return std::nullopt;
  }
  return Ipv4Interface{.address = *address, .prefix = prefix};
}

std::optional<unsigned> parse_netmask(std::string_view text) {
  const auto mask = parse_ipv4(text);
  if (!mask) return std::nullopt;
  const auto prefix = static_cast<unsigned>(std::countl_one(*mask));
  if (Ipv4Interface{.address = 0, .prefix = prefix}.mask() != *mask) return std::nullopt;
  return prefix;
}

}  // namespace paravane
