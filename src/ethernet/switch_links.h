// A switch as Linux links: bridges, taps and uplink NICs, created as requested and repaired where
// they differ. Links that it creates carry a mark in their alias, by which they are recognized and
// removed when they are no longer needed. An interface that it neither created nor was given is
// never changed, whatever its name.
//
// Nothing is remembered between calls except what the caller passes on. Blocks for as long as the
// kernel takes.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ipv4_interface.h"
#include "base/result.h"
#include "ethernet/link_news.h"
#include "ethernet/tap.h"

namespace paravane::ethernet {

struct WantedBridge {
  std::string name;
  std::string label;  // follows the mark in its alias
  std::uint32_t mtu = 1500;
  bool vlan_aware = false;

  friend bool operator==(const WantedBridge&, const WantedBridge&) = default;
};

// On a bridge that is wanted too. The VLANs are for VLAN-aware bridges.
struct WantedPort {
  std::string name;
  std::string bridge;
  std::uint16_t untagged = 0;           // VLAN of frames without a tag, both ways; 0: none
  std::vector<std::uint16_t> tagged{};  // VLANs of frames with one
  std::string label{};                  // of a tap

  friend bool operator==(const WantedPort&, const WantedPort&) = default;
};

// An interface of this host itself on a bridge: the far end of a pair whose near end is
// the port.
struct WantedOwn {
  std::string name;
  std::array<std::uint8_t, 6> mac{};
  std::optional<Ipv4Interface> ipv4{};
  WantedPort port;  // its label is that of both ends

  friend bool operator==(const WantedOwn&, const WantedOwn&) = default;
};

// By what a NIC is known again when it is called otherwise.
struct NicIdentity {
  int index = 0;  // of the kernel's, until the NIC goes
  std::string kind;
  std::string mac;
  std::string own_mac;  // outlives its going; empty: it has none of its own
};
using KnownNics = std::map<std::string, NicIdentity, std::less<>>;  // by the name that was given

struct WantedLinks {
  std::vector<WantedBridge> bridges;
  std::vector<WantedPort> taps;
  std::vector<WantedOwn> own{};
  std::vector<WantedPort> uplinks;  // NICs that are given
  std::vector<std::string> given;   // all NICs that are: these may also be let go
  TapAccess tap_access;
  KnownNics known{};  // uplinks as they were once seen under their names
};

// What is not as it is wanted, or what an operator should know of a link.
struct LinkProblem {
  std::string link;
  std::string text;
  bool foreign = false;  // another program created an interface of this name
};

// What was done to a link, in words: "it was down: brought up".
struct LinkChange {
  std::string link;
  std::string text;
};

struct MadeLinks {
  std::vector<LinkProblem> problems;
  std::vector<LinkChange> changes;
  KnownNics known;   // of the uplinks, for the next time
  LinkFilter about;  // whose news may ask for a next time
};

// Whether bridges of this kernel filter VLANs: by making one, under the mark.
// Errors: kIo.
Result<bool> bridges_filter_vlans(const std::string& mark);

// `mark` begins the alias of all that it makes, and of nothing else that anybody makes.
// A link that is already correct is not touched, so no notification is caused.
// Errors: kIo (nothing can be seen, and nothing was changed).
Result<MadeLinks> make_links(const std::string& mark, const WantedLinks& wanted);

}  // namespace paravane::ethernet
