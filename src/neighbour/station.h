// Station: what a service of the host is on an Ethernet: its MAC address, its link-local IPv6
// address, and its IPv4 address if it has one; and by which neighbour it reaches an address.
//
// Addresses have the form of GIDs: an IPv4 address a.b.c.d is ::ffff:a.b.c.d. A plain value; any
// thread.

#pragma once

#include <cstdint>
#include <optional>

#include "base/ipv4_interface.h"
#include "wire/roce/headers.h"

namespace paravane::neighbour {

using Address = wire::roce::GidBytes;
using wire::roce::MacBytes;

Address address_of(std::uint32_t ipv4);  // host byte order
// nullopt: it is no IPv4 address.
std::optional<std::uint32_t> ipv4_of(const Address& address);
bool is_link_local(const Address& address);

struct Station {
  MacBytes mac{};
  Address link_local{};
  std::optional<Ipv4Interface> ipv4{};
  std::optional<std::uint32_t> gateway{};  // host byte order, in the network of `ipv4`

  // Whose MAC address packets to `address` have: its own, or the gateway's. nullopt: no way leads
  // there.
  std::optional<Address> next_hop(const Address& address) const;

  friend bool operator==(const Station&, const Station&) = default;
};

}  // namespace paravane::neighbour
