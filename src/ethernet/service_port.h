// The port of a host service's adapter on a switch: a tap on the bridge, as a guest's is, which the
// engine opens. No kernel's network stack is behind it, so beside RoCE it needs what stations find
// each other's MAC addresses by: ARP, and solicitations and advertisements of IPv6's neighbours.
//
// Rules of traffic control let nothing else pass, in either direction. What the engine writes must
// come from the adapter's MAC address, by the frame's header and by what ARP and neighbour
// discovery tell of; so an engine that is taken over can claim an IP address there, for this MAC
// address. The gap that roce_port.h tells of, two bytes beyond the first 20 of a frame with a vnet
// header, is here, too, and reaches two bytes of the sender of ARP. The holder of the descriptor
// can also set the tap's own MAC address, to which the bridge then delivers frames for that
// address; the engine's rules let none of them come to it.
//
// The tap is make_links()'s (switch_links.h), with its bridge, its VLAN and its MTU. Nothing is
// remembered between calls. Blocks until the kernel responds. One thread.

#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ethernet/frame_filter.h"
#include "ethernet/link_news.h"
#include "ethernet/offload_tap.h"
#include "ethernet/switch_links.h"

namespace paravane::ethernet {

struct WantedServicePort {
  std::string tap;    // "pv-vmhba32.0"
  std::string label;  // of the tap's alias, behind the mark: "vmhba32"
  MacBytes mac{};     // the adapter's
};

struct MadeServicePort {
  std::vector<LinkProblem> problems;
  std::vector<LinkChange> changes;
  LinkFilter about;  // whose changes require another call
};

// Sets the rules of the tap. For a moment, before they are as wanted, there are none. Errors: kIo.
Result<MadeServicePort> ensure_service_port(const std::string& mark,
                                            const WantedServicePort& wanted);

// A descriptor for the engine. Errors: as open_offload_tap(), and kBadState (an interface that we
// did not create has the name).
Result<OpenTap> open_service_port(const std::string& mark, const WantedServicePort& wanted);

}  // namespace paravane::ethernet
