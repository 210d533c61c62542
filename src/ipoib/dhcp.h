// is_dhcp_answer(): a DHCP server's answer among the packets of VMs.
//
// DHCP of VMs passes an InfiniBand subnet as it is. RFC 4390 gives a client on InfiniBand hardware
// type 32, no hardware address, a client identifier and the broadcast flag, since its 20 bytes do
// not fit into a message. A VM's client is one on Ethernet: its message has hardware type 1 and its
// MAC, and servers answer to what a message says. Nothing of that is rewritten.
//
// One thing is lost on the way. A server answers a client without the broadcast flag by a frame to
// the MAC in the message, while the client has no IP address yet that could be resolved; and on
// InfiniBand no node is found by a MAC of Ethernet. So the uplink sends such an answer to all, as
// RFC 4390, 2.2 has servers do.
//
// DHCP for IPv6 needs nothing of this: a client has a link-local address, under which it is found
// by neighbour discovery.
//
// A pure function; any thread.

#pragma once

#include <cstddef>
#include <span>

namespace paravane::ipoib {

// Whether an IPv4 packet is a whole UDP datagram, or the beginning of one, from a server's port to
// a client's with a reply in it.
bool is_dhcp_answer(std::span<const std::byte> ipv4_packet);

}  // namespace paravane::ipoib
