// Translates neighbour discovery of IPv6 (RFC 4861) between VMs' Ethernet and InfiniBand: the
// link-layer addresses in its options, which are a MAC in 8 bytes there and an IpoibAddress in 24
// here (RFC 4391, 9.3). Payload length and checksum follow; all else of a packet stays as it is.
//
// What is accepted is what a node of either link would accept (RFC 4861, 6.1 and 7.1): hop limit
// 255, code 0, a right checksum, options that end where the packet ends. Discovery in a fragment is
// refused (RFC 6980), and so is discovery behind an extension header: no node sends it so, and
// passed on unseen it would tell nodes link-layer addresses that have not been translated.
//
// Packets begin with their IPv6 header. What follows the length that this states is Ethernet's
// padding and left out. Lengths are in bytes. Pure functions; any thread. Each packet costs at most
// its own length, and kMostLinkAddresses calls of the mapping.

#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "wire/infiniband/ip_over_infiniband.h"
#include "wire/roce/headers.h"

namespace paravane::ipoib {

using wire::infiniband::IpoibAddress;
using wire::roce::MacBytes;

enum class DiscoveryKind : std::uint8_t {
  kNone,   // another packet, which needs no translation
  kPlain,  // directly behind the IPv6 header, which is for the functions below
  // In a fragment or behind an extension header, or in a packet that ends before that shows: not to
  // be passed on.
  kHidden,
};
DiscoveryKind discovery_kind(std::span<const std::byte> packet);

enum class DiscoveryRefusal : std::uint8_t {
  kNotPlain,  // its kind is another than DiscoveryKind::kPlain
  kHopLimit,
  kCode,
  kShort,  // ends within the message
  kChecksum,
  kOption,   // of length 0, beyond the end, or a link-layer address of another link's length
  kTooMany,  // link-layer addresses
  kUnknown,  // the mapping has no address for one
  kLong,     // would be, with what the translation adds
};

inline constexpr std::size_t kMostLinkAddresses = 4;

// nullopt: has none, and the packet is refused.
using AddressOfMac = std::function<std::optional<IpoibAddress>(const MacBytes&)>;
using MacOfAddress = std::function<std::optional<MacBytes>(const IpoibAddress&)>;

// The new packet, of at most kMostIpBytes.
std::expected<std::vector<std::byte>, DiscoveryRefusal> discovery_to_infiniband(
    std::span<const std::byte> packet, const AddressOfMac& address_of);
std::expected<std::vector<std::byte>, DiscoveryRefusal> discovery_to_ethernet(
    std::span<const std::byte> packet, const MacOfAddress& mac_of);

}  // namespace paravane::ipoib
