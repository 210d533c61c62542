// Opens a tap, since QEMU has no right to open one itself.

#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane::vmm {

bool tap_exists(const std::string& name);

// Closed on exec. REQUIRES: tap_exists(); another name would be made by that.
// Errors: kIo, with the cause (already in use, no permission).
Result<UniqueFd> open_tap(const std::string& name);

}  // namespace paravane::vmm
