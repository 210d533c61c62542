// The properties by which a NIC is recognized after it was renamed.
//
// Pure functions; any thread.

#pragma once

#include <functional>
#include <map>
#include <string>

namespace paravane::ethernet {

struct Link;

struct NicIdentity {
  int index = 0;  // the kernel's index, valid until the NIC disappears
  std::string kind;
  std::string mac;
  std::string own_mac;  // stays the same after the NIC returns; empty: it has none

  friend bool operator==(const NicIdentity&, const NicIdentity&) = default;
};
using KnownNics = std::map<std::string, NicIdentity, std::less<>>;  // by the requested name

NicIdentity identity_of(const Link& nic);
// Whether a link is the NIC that was known so, whatever its name. Hardware has an address of its
// own. What shares another's or has none (VLANs, bonds, veth) is known while it is there, for then
// the kernel's number is its alone.
bool is_same_nic(const Link& link, const NicIdentity& known);

}  // namespace paravane::ethernet
