// The RoCE port of an adapter: a second tap beside the guest's, on which the engine sends and
// receives the adapter's RoCE packets on the network. It is not on a bridge. Rules of traffic
// control tie it to the guest's tap:
//
// - RoCE frames that the guest's tap would send to the guest go to the port, and no others;
// - frames that the engine writes go on as if the guest had sent them, so the bridge learns the
//   guest's MAC address from them and puts them into the guest's VLAN. They go on only if they are
//   RoCE from the adapter's MAC address. All others are dropped by the kernel and counted, so an
//   engine that is taken over cannot send ARP, or speak with another's address;
// - frames with a priority tag reach the engine with it.
//
// Where the kernel can, frames of RoCE v2 pass a merging pair first, which makes one of many
// (merging_pair.h). What the engine writes does not. A port whose pair cannot be made, or is not as
// it must be, receives packets one by one.
//
// That wall has one gap where frames have vnet headers: a frame can ask for a checksum of a part of
// itself, which the kernel fills in where the frame leaves, after the rules have looked. So two
// bytes beyond the first 20 can leave with another value than the rules saw: another protocol or
// port in a packet of IP. The MAC addresses and the type of the frame come before, so neither ARP
// nor the address of another adapter is possible. (virtio_net_hdr_to_skb() of Linux. The action
// `csum` of traffic control would close the gap for frames of one packet.) Linux 6.1 does not keep
// the first 20 bytes from it, and has no headers here: see offload_tap.h.
//
// A descriptor of the port does not let its holder, without CAP_NET_ADMIN, rename the interface,
// use another interface with it, set its MTU or state, add rules, or put it on a bridge. It does
// let its holder set what belongs to the tap itself: the interface's MAC address (which no rule
// looks at), its carrier, its owner, the settings that offload_tap.h lists, and that the tap
// disappears when it is closed. Nothing of that reaches the network, and ensure_roce_port() and
// open_roce_port() set it right.
//
// An interface is recognized as ours by its alias: a mark, the guest's tap and "~". Nothing is
// remembered between calls. Blocks until the kernel responds. One thread.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ethernet/frame_filter.h"
#include "ethernet/merging_ability.h"
#include "ethernet/offload_tap.h"
#include "ethernet/switch_links.h"

namespace paravane::ethernet {

// Ends the alias of a port and of its pair, so that it is not taken for a guest's tap.
inline constexpr std::string_view kRocePortEnd = "~";

struct WantedRocePort {
  std::string name;       // "pvr-db1", at most 15 characters
  std::string guest_tap;  // "pv-db1"
  MacBytes mac{};         // the adapter's
  std::uint32_t mtu = 1500;
  Merges merges = Merges::kNothing;  // what the merging pair gets; kNothing: there is no pair
  std::string merging_end{};         // "pvm-db1", at most 15 characters
  std::string filling_end{};         // "pvf-db1", likewise
};

struct MadeRocePort {
  std::vector<LinkProblem> problems;  // what remains, and the interface that it is about
  // What is wrong with the merging pair, so that packets come one by one; empty: nothing.
  std::string unmerged{};
  std::vector<LinkChange> changes;
  // Interfaces whose changes, and whose rules' changes, require another call.
  LinkFilter about;
};

// `mark`: as for make_links(), which creates the guest's tap. What is already right is not changed.
// Rules of other programs on the guest's tap stay; on the port there are none but ours. Errors: kIo
// (the interfaces cannot be listed, and nothing was changed), kInvalidArgument (the name).
Result<MadeRocePort> ensure_roce_port(const std::string& mark, const WantedRocePort& wanted);

// What ensure_roce_port() would change or complain of. Errors: as there.
Result<std::vector<LinkProblem>> check_roce_port(const std::string& mark,
                                                 const WantedRocePort& wanted);

// Removes the port with its merging pair, and our rules from the guest's tap. Does nothing about
// what is not there or not ours. Errors: kIo.
Status remove_roce_port(const std::string& mark, const std::string& name,
                        const std::string& guest_tap);

// A port that exists.
struct RocePortName {
  std::string name;  // empty: only its merging pair is left, or a part of that
  std::string guest_tap;
};
Result<std::vector<RocePortName>> list_roce_ports(const std::string& mark);

// A descriptor for the engine. Errors: as open_offload_tap(), and kBadState (an interface that we
// did not create has the name).
Result<OpenTap> open_roce_port(const std::string& mark, const std::string& name);

// How many frames of the engine were dropped since the port's rules were created. Errors:
// kNotFound, kIo.
Result<std::uint64_t> refused_frames(const std::string& mark, const std::string& name);

}  // namespace paravane::ethernet
