// The rules of traffic control that tie an adapter's RoCE port to the tap of its guest, and to the
// pair of interfaces that merges packets before it: see roce_port.h and merging_pair.h. They are
// values; traffic_rules.h gives them to the kernel.
//
// Formats: RoCE v1 and v2, InfiniBand Architecture Specification, volume 1, annexes A16 and A17.

#pragma once

#include <vector>

#include "ethernet/frame_filter.h"
#include "ethernet/merging_ability.h"
#include "ethernet/traffic_rules.h"

namespace paravane::ethernet {

// Where the guest's tap sends RoCE frames instead, as indices of interfaces.
struct RoceWays {
  int port = 0;
  int merging_end = 0;               // of a pair before the port; 0: there is none
  Merges merges = Merges::kNothing;  // what goes to the pair
};

// For frames that the guest's tap sends, which are those to the guest. RoCE v2 to the adapter's MAC
// address or a group goes to the port: UDP to port 4791, in IPv4 without options and not a
// fragment, or in IPv6 without extension headers. So does RoCE v1 to the adapter's own MAC address.
// RoCE to others, which a bridge floods to all taps as long as it does not know them, does not. A
// priority tag does not matter, and the port sends it with the frame; a frame of a VLAN stays the
// guest's. All else is left to the guest.
//
// All packets of a flow go one way, so that none passes another.
std::vector<TrafficRule> rules_to_guest(const MacBytes& mac, const RoceWays& ways);

// For frames that the filling end of the pair receives, none of which is to be cut any more. RoCE
// v2 as above is sent back, with a UDP checksum: a packet without one gets one first. All else is
// dropped. `filling_end`: its own index.
std::vector<TrafficRule> rules_of_filling_end(const MacBytes& mac, int filling_end);

// For frames that the merging end receives. RoCE v2 as above goes to the port, all else is dropped.
std::vector<TrafficRule> rules_of_merging_end(const MacBytes& mac, int port);

// For frames that the port receives, which are those that the engine writes. RoCE as above, without
// a tag, and from the adapter's MAC address goes on as if the guest had sent it. All else is
// dropped. If `guest_tap` is 0, the guest has no tap, and all frames are dropped.
std::vector<TrafficRule> rules_of_port(const MacBytes& mac, int guest_tap);

// Of the port of a service's adapter, which is on a bridge itself (service_port.h). For frames that
// it receives, which are those that the engine writes: RoCE as above, ARP, and solicitations and
// advertisements of IPv6's neighbours, all without a tag, from the adapter's MAC address and
// telling of no other, pass. All else is dropped, also what ends before it can be looked at.
TrafficRule rules_of_service(const MacBytes& mac);
// For frames that it sends, which are those to the engine: the same, to the adapter's MAC address
// or a group, but RoCE v1 to a group, pass.
TrafficRule rules_to_service(const MacBytes& mac);

}  // namespace paravane::ethernet
