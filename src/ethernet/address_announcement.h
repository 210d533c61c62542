// announce_addresses(): tells the network at an interface that MAC addresses are to be reached
// through it from now on, when it takes over as a switch's uplink. Switches there learn that from
// the source of a broadcast frame: one RARP request for each address, as VMware's hypervisor sends
// it ("notify switches").
//
// The frames are sent through a bridge of their own, on which the interface still is while it
// stands by, so no VM hears them, and no right is needed but CAP_NET_ADMIN. Blocks until the
// interface has taken them. One thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "ethernet/links.h"

namespace paravane::ethernet {

// A RARP request (RFC 903) in which an address asks for its own IP address: its bytes on a cable,
// with the VLAN's tag unless `vlan` is 0.
std::vector<std::byte> announcement_of(const std::array<std::uint8_t, 6>& mac, std::uint16_t vlan);

// The frames that announce `addresses`, as a bridge has learned them behind its other ports, out of
// a port of it with these VLANs. Those that no frame through the port can come from are left out.
std::vector<std::vector<std::byte>> announcements(const std::vector<BridgeAddress>& addresses,
                                                  std::uint16_t untagged,
                                                  const std::vector<std::uint16_t>& tagged);

// Sends the frames out of the ports of a bridge that is down, and leaves it down. Errors: kIo,
// kUnsupported.
Status send_through(Links& links, int bridge, const std::vector<std::vector<std::byte>>& frames);

}  // namespace paravane::ethernet
