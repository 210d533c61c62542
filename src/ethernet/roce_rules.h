// The rules of traffic control that tie an adapter's RoCE port to the tap of its guest: see
// roce_port.h. They are values; traffic_rules.h gives them to the kernel.
//
// Formats: RoCE v1 and v2, InfiniBand Architecture Specification, volume 1, annexes A16 and A17.

#pragma once

#include <vector>

#include "ethernet/frame_filter.h"
#include "ethernet/traffic_rules.h"

namespace paravane::ethernet {

// For frames that the guest's tap sends, which are those to the guest. RoCE v2 to the adapter's MAC
// address or a group goes to the port: UDP to port 4791, in IPv4 without options and not a
// fragment, or in IPv6 without extension headers. So does RoCE v1 to the adapter's own MAC address.
// RoCE to others, which a bridge floods to all taps as long as it does not know them, does not. A
// priority tag does not matter, and the port sends it with the frame; a frame of a VLAN stays the
// guest's. All else is left to the guest.
std::vector<TrafficRule> rules_to_guest(const MacBytes& mac, int port);

// For frames that the port receives, which are those that the engine writes. RoCE as above, without
// a tag, and from the adapter's MAC address goes on as if the guest had sent it. All else is
// dropped. If `guest_tap` is 0, the guest has no tap, and all frames are dropped.
std::vector<TrafficRule> rules_of_port(const MacBytes& mac, int guest_tap);

}  // namespace paravane::ethernet
