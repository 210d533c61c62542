// The checksums of IP (RFC 1071) and of ICMPv6 (RFC 8200, 8.1).
//
// Each is what belongs into the checksum's field if that is 0, and 0 if the field is right. A sum
// is never written as 0xFFFF. Pure functions; any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/infiniband/ip_over_infiniband.h"

namespace paravane::ipoib {

// `more`: what is added to the sum of the bytes.
inline std::uint16_t checksum_of(std::span<const std::byte> bytes, std::uint64_t more = 0) {
  std::uint64_t sum = more;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    sum += std::to_integer<std::uint64_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
  }
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

// `message`: from the ICMPv6 header to the end.
inline std::uint16_t icmpv6_checksum(const wire::infiniband::Ipv6Address& source,
                                     const wire::infiniband::Ipv6Address& destination,
                                     std::span<const std::byte> message) {
  constexpr std::uint8_t kIcmpv6 = 58;
  std::uint64_t sum = message.size() + kIcmpv6;
  for (const auto* address : {&source, &destination}) {
    for (std::size_t i = 0; i < address->size(); i += 2) {
      sum += static_cast<std::uint64_t>((*address)[i] << 8) | (*address)[i + 1];
    }
  }
  return checksum_of(message, sum);
}

}  // namespace paravane::ipoib
