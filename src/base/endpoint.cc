#include "base/endpoint.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <array>
#include <charconv>

namespace paravane {

std::optional<Endpoint> Endpoint::of(std::string_view address, std::uint16_t port) {
  const std::string text(address);
  Endpoint endpoint;
  auto& v4 = reinterpret_cast<sockaddr_in&>(endpoint.storage_);
  if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    return endpoint;
  }
  auto& v6 = reinterpret_cast<sockaddr_in6&>(endpoint.storage_);
  if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) != 1) return std::nullopt;
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  return endpoint;
}

std::optional<Endpoint> Endpoint::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port == 0) {
    return std::nullopt;
  }
  std::string_view address = text.substr(0, colon);
  const bool bracketed = address.size() > 2 && address.front() == '[' && address.back() == ']';
  if (bracketed) address = address.substr(1, address.size() - 2);
  const auto endpoint = of(address, port);
  if (!endpoint || bracketed != (endpoint->family() == AF_INET6)) return std::nullopt;
  return endpoint;
}

std::string Endpoint::address() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = family() == AF_INET ? static_cast<const void*>(&v4().sin_addr)
                                          : static_cast<const void*>(&v6().sin6_addr);
  ::inet_ntop(family(), bytes, text.data(), text.size());
  return text.data();
}

std::uint16_t Endpoint::port() const {
  return ntohs(family() == AF_INET ? v4().sin_port : v6().sin6_port);
}

std::string Endpoint::print() const {
  if (family() == AF_INET) return fmt::format("{}:{}", address(), port());
  return fmt::format("[{}]:{}", address(), port());
}

bool Endpoint::is_loopback() const {
  if (family() == AF_INET) return ntohl(v4().sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  return IN6_IS_ADDR_LOOPBACK(&v6().sin6_addr);
}

bool Endpoint::is_unicast() const {
  if (family() == AF_INET6) {
    const in6_addr& address = v6().sin6_addr;
    return !IN6_IS_ADDR_UNSPECIFIED(&address) && !IN6_IS_ADDR_MULTICAST(&address) &&
           !IN6_IS_ADDR_V4MAPPED(&address) && !IN6_IS_ADDR_V4COMPAT(&address) &&
           !IN6_IS_ADDR_LINKLOCAL(&address);  // would need an interface
  }
  const std::uint32_t address = ntohl(v4().sin_addr.s_addr);
  return address >> 24 != 0 && address >> 28 < 0xE;  // 0/8; multicast and beyond
}

socklen_t Endpoint::size() const {
  return family() == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

}  // namespace paravane
