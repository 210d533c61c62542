// Taps: interfaces whose other end is a program, here a VMM. They persist until they are removed
// as a link, whether or not a program has them open.

#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"

namespace paravane::ethernet {

// Who may be a tap's other end: members of this group; not set: root alone. For as long
// as the tap is there.
struct TapAccess {
  std::optional<gid_t> group;
};

// Down, on no bridge. REQUIRES: a name as Linux takes one. Errors: kBadState (an interface has the
// name), kIo.
Status make_tap(const std::string& name, const TapAccess& access);

}  // namespace paravane::ethernet
