// SeenLinks: the links of this host as the kernel told of them last, and which of them are ours.
//
// A link is ours if its alias begins with our mark and it is of a kind that we make: a bridge, a
// tap, or an end of a pair whose mark has the name of the pair. Any program may set an alias, so a
// NIC with our mark is not ours.
//
// Nothing is changed here. Blocks until the kernel responds; one thread at a time.

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ipv4_interface.h"
#include "base/result.h"
#include "ethernet/links.h"

namespace paravane::ethernet {

// Ends the mark of that end of a pair which is on a bridge.
inline constexpr const char* kPortOfPair = "+";

class SeenLinks {
 public:
  using ByName = std::map<std::string, Link, std::less<>>;

  // Both outlive us.
  SeenLinks(Links& links, const std::string& mark) : links_(links), mark_(mark) {}

  // Links and their addresses. What was found before is not valid any more. Errors: kIo.
  Status look();
  // The VLANs of ports. Errors: kIo.
  Status look_at_vlans();
  // One that has been removed.
  ByName::const_iterator forget(ByName::const_iterator link) { return found_.erase(link); }

  // ---- What was seen last ----
  const ByName& all() const { return found_; }
  // nullptr: no link matches.
  const Link* find(std::string_view name) const;
  const Link* find(int index) const;
  bool is_ours(const Link& link) const;
  // The addresses under which other hosts reach a link.
  std::span<const std::string> addresses(int index) const;
  std::span<const Ipv4Interface> ipv4(int index) const;
  PortVlans vlans(int index) const;
  // In words for an operator; nullopt: it may be one.
  std::optional<std::string> why_not_uplink(const Link& nic) const;
  // Why a link cannot have an address: what is sent to its network would take another way than it
  // does now. nullopt: it can.
  std::optional<std::string> why_not_address(const Link& link, const Ipv4Interface& address) const;

 private:
  bool is_end_of_pair(const Link& link) const;

  Links& links_;
  const std::string& mark_;
  ByName found_;
  std::map<int, PortVlans> vlans_;
  std::map<int, std::vector<std::string>> addresses_;
  std::map<int, std::vector<Ipv4Interface>> ipv4_;
};

}  // namespace paravane::ethernet
