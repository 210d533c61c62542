// Endpoint: an IP address with a port, such as "192.0.2.1:28250" or "[2001:db8::1]:28250". Host
// names are not accepted, because this code never resolves names.
//
// A plain value.

#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paravane {

class Endpoint {
 public:
  static std::optional<Endpoint> parse(std::string_view text);
  // nullopt: not an address.
  static std::optional<Endpoint> of(std::string_view address, std::uint16_t port);

  std::string print() const;
  std::string address() const;
  std::uint16_t port() const;
  int family() const { return storage_.ss_family; }

  bool is_loopback() const;
  // Whether the address belongs to one host. Unspecified, broadcast, multicast and IPv4-mapped
  // addresses do not.
  bool is_unicast() const;

  const sockaddr* generic() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const;

 private:
  const sockaddr_in& v4() const { return reinterpret_cast<const sockaddr_in&>(storage_); }
  const sockaddr_in6& v6() const { return reinterpret_cast<const sockaddr_in6&>(storage_); }

  sockaddr_storage storage_{};
};

}  // namespace paravane
