// Taps: interfaces whose other end is a program, here a VMM. They persist until they are removed
// as a link, whether or not a program has them open.

#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"

namespace paravane::ethernet {

// The group whose members may open the tap; not set: root only. For as long
// as the tap is there.
struct TapAccess {
  std::optional<gid_t> group;
};

// Down, on no bridge. REQUIRES: a name as Linux takes one. Errors: kBadState (an interface has the
// name), kIo.
Status make_tap(const std::string& name, const TapAccess& access);

}  // namespace paravane::ethernet
