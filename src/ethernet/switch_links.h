// make_links(): creates the bridges, taps and other Linux interfaces of virtual switches, connects
// uplink NICs to the bridges, and repairs everything that differs from the requested state.
//
// The interfaces that the function creates carry a mark in their alias. The function recognizes
// them by this mark, and removes them when they are no longer requested. Apart from these
// interfaces, it changes only the interfaces that the caller specifies.
//
// Nothing is remembered between calls except what the caller passes in. Blocks until the kernel
// responds.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ipv4_interface.h"
#include "base/result.h"
#include "ethernet/known_nics.h"
#include "ethernet/link_news.h"
#include "ethernet/tap.h"

namespace paravane::ethernet {

struct WantedBridge {
  std::string name;
  std::string label;  // follows the mark in its alias
  std::uint32_t mtu = 1500;
  bool vlan_aware = false;
  // It stays down, so that nothing passes it: for a port that stands by (WantedTeam).
  bool is_parking = false;

  friend bool operator==(const WantedBridge&, const WantedBridge&) = default;
};

// A port on a requested bridge. Its VLANs apply to VLAN-aware bridges only.
struct WantedPort {
  std::string name;
  std::string bridge;
  std::uint16_t untagged = 0;           // VLAN of frames without a tag, both ways; 0: none
  std::vector<std::uint16_t> tagged{};  // VLANs of frames with a tag
  std::string label{};                  // of a tap
  // Of a tap: only root may open it, whatever WantedLinks::tap_access says.
  bool is_for_root = false;
  // Of a team: the bridge on which it is while it stands by, which no other port shares.
  std::string parking{};

  friend bool operator==(const WantedPort&, const WantedPort&) = default;
};

// Uplinks of which one at a time is on its bridges: as choose_uplink() chooses. The ports of the
// others are on their parking bridges, which are down, so that no frame passes them, even after
// this program has ended: the kernel itself lets frames pass a port of a bridge without spanning
// tree as soon as the port has a link.
struct WantedTeam {
  struct Member {
    std::string name;                // of the uplink
    std::vector<std::string> ports;  // among WantedLinks::uplinks or taps

    friend bool operator==(const Member&, const Member&) = default;
  };
  std::string name;             // of the switch
  std::vector<Member> members;  // in failover order
  std::string last{};           // the uplink that carried the frames last; empty: it is not known

  friend bool operator==(const WantedTeam&, const WantedTeam&) = default;
};

// An interface of this host that is connected to a bridge. It is one end of a pair of interfaces,
// and the other end is the port of the bridge.
struct WantedOwn {
  std::string name;
  std::array<std::uint8_t, 6> mac{};
  std::optional<Ipv4Interface> ipv4{};
  WantedPort port;  // both ends get its label

  friend bool operator==(const WantedOwn&, const WantedOwn&) = default;
};

struct WantedLinks {
  std::vector<WantedBridge> bridges;
  std::vector<WantedPort> taps;
  std::vector<WantedOwn> own{};
  std::vector<WantedPort> uplinks;  // NICs that this function may use
  std::vector<std::string> given;   // all NICs that it may use, and so may disconnect
  TapAccess tap_access;
  std::vector<WantedTeam> teams{};
  // Uplinks of no team, of which is told when they have no link.
  std::vector<WantedTeam::Member> alone{};
  KnownNics known{};  // uplinks as they were last seen under their names
};

// A difference from the requested state that remains, or another fact about a link that an operator
// should know.
struct LinkProblem {
  std::string link;
  std::string text;
  bool foreign = false;  // another program created an interface of this name
  bool no_link = false;  // of an uplink: it is as it should be, but not connected
};

// A description of a change to a link, such as "it was down: brought up".
struct LinkChange {
  std::string link;
  std::string text;
};

// Another uplink of a team carries the frames from now on.
struct Takeover {
  std::string team;
  std::string from;
  std::string to;

  friend bool operator==(const Takeover&, const Takeover&) = default;
};

struct MadeLinks {
  std::vector<LinkProblem> problems;
  std::vector<LinkChange> changes;
  std::map<std::string, std::string> active{};  // the uplink that carries the frames, by team
  std::vector<Takeover> takeovers{};
  KnownNics known;   // of the uplinks, for the next call
  LinkFilter about;  // interfaces whose changes require another call
};

// Whether bridges of this kernel can filter VLANs. The function creates a temporary bridge with the
// mark to find out. Errors: kIo.
Result<bool> bridges_filter_vlans(const std::string& mark);

// `mark`: the beginning of the alias of every interface that this function creates. No other
// program may use it. An interface that is already correct is not changed, so it causes no
// notification. Errors: kIo (the interfaces cannot be listed, and nothing was changed).
Result<MadeLinks> make_links(const std::string& mark, const WantedLinks& wanted);

}  // namespace paravane::ethernet
