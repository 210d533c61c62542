#include "neighbour/station.h"

#include <algorithm>

namespace paravane::neighbour {
namespace {

constexpr std::size_t kIpv4At = 12;
constexpr Address kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

}  // namespace

Address address_of(std::uint32_t ipv4) {
  Address address = kMapped;
  for (std::size_t i = 0; i < 4; ++i) {
    address[kIpv4At + i] = static_cast<std::uint8_t>(ipv4 >> (24 - 8 * i));
  }
  return address;
}

std::optional<std::uint32_t> ipv4_of(const Address& address) {
  if (!std::equal(address.begin(), address.begin() + kIpv4At, kMapped.begin())) return std::nullopt;
  std::uint32_t ipv4 = 0;
  for (std::size_t i = kIpv4At; i < address.size(); ++i) ipv4 = (ipv4 << 8) | address[i];
  return ipv4;
}

bool is_link_local(const Address& address) {
  return address[0] == 0xFE && (address[1] & 0xC0) == 0x80;
}

std::optional<Address> Station::next_hop(const Address& address) const {
  if (is_link_local(address)) return address;
  const auto wanted = ipv4_of(address);
  if (!wanted || !ipv4) return std::nullopt;
  if (ipv4->overlaps({.address = *wanted, .prefix = ipv4->prefix})) return address;
  if (!gateway) return std::nullopt;
  return address_of(*gateway);
}

}  // namespace paravane::neighbour
