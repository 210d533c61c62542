// A switch as links of Linux: bridges, taps and the NICs that lead away, made as they
// are wanted and mended where they are not. What it makes carries a mark in its alias,
// and by that it is known again and removed when it is no longer wanted. An interface
// that it neither made nor was given is never changed, whatever its name.
//
// Nothing is remembered from call to call. Blocks for as long as the kernel takes.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ipv4_interface.h"
#include "base/result.h"
#include "ethernet/tap.h"

namespace paravane::ethernet {

struct WantedBridge {
  std::string name;
  std::string label;  // follows the mark in its alias
  std::uint32_t mtu = 1500;
  bool vlan_aware = false;
};

// On a bridge that is wanted too. The VLANs are for VLAN-aware bridges.
struct WantedPort {
  std::string name;
  std::string bridge;
  std::uint16_t untagged = 0;           // VLAN of frames without a tag, both ways; 0: none
  std::vector<std::uint16_t> tagged{};  // VLANs of frames with one
  std::string label{};                  // of a tap
};

// An interface of this host itself on a bridge: the far end of a pair whose near end is
// the port.
struct WantedOwn {
  std::string name;
  std::array<std::uint8_t, 6> mac{};
  std::optional<Ipv4Interface> ipv4{};
  WantedPort port;  // its label is that of both ends
};

struct WantedLinks {
  std::vector<WantedBridge> bridges;
  std::vector<WantedPort> taps;
  std::vector<WantedOwn> own{};
  std::vector<WantedPort> uplinks;  // NICs that are given
  std::vector<std::string> given;   // all NICs that are: these may also be let go
  TapAccess tap_access;
};

// What is not as it is wanted, or what an operator should know of a link.
struct LinkProblem {
  std::string link;
  std::string text;
};

// Whether bridges of this kernel filter VLANs: by making one, under the mark.
// Errors: kIo.
Result<bool> bridges_filter_vlans(const std::string& mark);

// `mark` begins the alias of all that it makes, and of nothing else that anybody makes.
// Errors: kIo (nothing can be seen, and nothing was changed).
Result<std::vector<LinkProblem>> make_links(const std::string& mark, const WantedLinks& wanted);

}  // namespace paravane::ethernet
