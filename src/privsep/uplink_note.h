// UplinkNote: what the keeper (the privileged process) says of a tap of an IPoIB uplink whose
// descriptor comes with the message. As text it is "NAME VLAN MAKING MTU", where VLAN is a number,
// "tagged" if the tap carries the frames of all VLANs with their tags, or "guests" if it carries
// those of VMs that tag their frames themselves.
//
// Plain values; any thread.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace paravane::privsep {

struct UplinkNote {
  std::string uplink;        // "vmnic32"
  std::uint32_t vlan = 0;    // 0 to 4094; 0: untagged
  bool tagged = false;       // carries all VLANs; vlan is 0, or 4095 if they are of guests
  std::uint32_t making = 0;  // as in the plan that it was opened for
  std::uint32_t mtu = 1500;  // of the switch, in bytes

  friend bool operator==(const UplinkNote&, const UplinkNote&) = default;
};

std::string print(const UplinkNote& note);
// Errors: kInvalidArgument.
Result<UplinkNote> parse_uplink_note(std::string_view text);

}  // namespace paravane::privsep
