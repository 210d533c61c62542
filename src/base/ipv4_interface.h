// Ipv4Interface: the IPv4 address of an interface together with its network. It is written as
// "192.168.1.241/24" or, as in esxcli, as an address and a netmask.
//
// A plain value. The functions are stateless and may be called by any thread.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paravane {

struct Ipv4Interface {
  std::uint32_t address = 0;  // host byte order
  unsigned prefix = 0;        // bits of the network

  std::uint32_t mask() const { return prefix == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix); }
  std::uint32_t broadcast() const { return address | ~mask(); }
  bool overlaps(const Ipv4Interface& other) const {
    const std::uint32_t wider = mask() & other.mask();
    return (address & wider) == (other.address & wider);
  }

  friend bool operator==(const Ipv4Interface&, const Ipv4Interface&) = default;
};

std::string format_ipv4(std::uint32_t address);       // "192.168.1.241"
std::string format_ipv4(const Ipv4Interface& value);  // "192.168.1.241/24"

std::optional<std::uint32_t> parse_ipv4(std::string_view text);
// "192.168.1.241/24".
std::optional<Ipv4Interface> parse_ipv4_interface(std::string_view text);
// The number of network bits in a netmask, such as 24 for "255.255.255.0"; nullopt: `text` is not a
// netmask.
std::optional<unsigned> parse_netmask(std::string_view text);

}  // namespace paravane
