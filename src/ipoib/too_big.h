// What a VM is told whose IP packet is larger than the link's MTU: ICMP's "fragmentation needed"
// (RFC 792, RFC 1191) and ICMPv6's "packet too big" (RFC 4443).
//
// An answer's source is the destination of the packet that was too big. The uplink is a bridge and
// has no address on the VMs' network; that one is known to the sender, has a route, and passes its
// filters for addresses that cannot be.
//
// No answer to: a packet that is malformed, fits, or is a fragment but the first (the first is as
// large, and its sender can be told by its ports); an IPv4 packet that may be fragmented, which is
// lost without a word since nothing here fragments; an ICMP error, or one that may be; a source or
// destination that is not one node's (RFC 1122, 3.2.2; RFC 4443, 2.4). RFC 4443 would allow an
// answer about a group, but not one that comes from it. A directed broadcast cannot be told from
// an address: the caller asks only about frames to one station's MAC.
//
// Packets begin with their IP header. Lengths are in bytes. Pure functions; any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace paravane::ipoib {

// The least that RFC 791 and RFC 8200 allow a link. About less there is no answer.
inline constexpr std::uint16_t kLeastIpv4Mtu = 68;
inline constexpr std::uint32_t kLeastIpv6Mtu = 1280;

// The answer as a packet to `packet`'s source: the header of `packet` with its options, and 8 bytes
// of what follows.
std::optional<std::vector<std::byte>> fragmentation_needed(std::span<const std::byte> packet,
                                                           std::uint16_t mtu);

// As much of `packet` as makes an answer of 1280 bytes.
std::optional<std::vector<std::byte>> packet_too_big(std::span<const std::byte> packet,
                                                     std::uint32_t mtu);

}  // namespace paravane::ipoib
