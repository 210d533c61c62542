// make_tap(): creates a tap, an Ethernet interface whose other end is a program. Here that program
// is the VMM of a VM. The tap exists until it is removed, even when no program has it open.

#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"

namespace paravane::ethernet {

// The group whose members may open the tap; not set: only root may open it. This holds for as long
// as the tap exists.
struct TapAccess {
  std::optional<gid_t> group;
};

// The new tap is down and not on a bridge. REQUIRES: `name` is a valid interface name. Errors:
// kBadState (an interface already has the name), kIo.
Status make_tap(const std::string& name, const TapAccess& access);

}  // namespace paravane::ethernet
