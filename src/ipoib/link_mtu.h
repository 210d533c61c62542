// The MTUs of links of the subnet: as numbers of the protocol, in bytes, and of the IP packets that
// go over them.
//
// Pure functions; any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "wire/infiniband/ip_over_infiniband.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::ipoib {

// Whether a number of the protocol is one: 256 to 4096 bytes.
constexpr bool is_link_mtu(unsigned number) {
  using wire::infiniband::Mtu;
  return number >= std::to_underlying(Mtu::k256) && number <= std::to_underlying(Mtu::k4096);
}

// The number; 0: no link has this MTU.
constexpr std::uint8_t number_of_mtu(std::size_t bytes) {
  for (std::uint8_t number = 0; number <= std::to_underlying(wire::infiniband::Mtu::k4096);
       ++number) {
    if (is_link_mtu(number) &&
        wire::infiniband::bytes_of(static_cast<wire::infiniband::Mtu>(number)) == bytes)
      return number;
  }
  return 0;
}

// IPv6 needs 1280 (RFC 8200, section 5), and a link of 1024 has fewer.
constexpr bool carries_ip(wire::infiniband::Mtu mtu) {
  using wire::infiniband::Mtu;
  return mtu == Mtu::k2048 || mtu == Mtu::k4096;
}

// The greatest IP packet of a link with this MTU, and the other way round; in bytes. REQUIRES of
// the first: not less than the encapsulation.
constexpr std::size_t ip_mtu_of(std::size_t link) {
  return link - sizeof(wire::infiniband::EncapsulationHeader);
}
constexpr std::size_t link_mtu_of(std::size_t ip) {
  return ip + sizeof(wire::infiniband::EncapsulationHeader);
}

}  // namespace paravane::ipoib
