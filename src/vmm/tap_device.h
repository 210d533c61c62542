// Opens the tap of a VM's NIC on behalf of QEMU, which has no right to open it.

#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane::vmm {

bool tap_exists(const std::string& name);

// The descriptor is closed on exec. REQUIRES: tap_exists(), because opening a missing tap would
// create it. Errors: kIo, with the cause (already in use, no permission).
Result<UniqueFd> open_tap(const std::string& name);

}  // namespace paravane::vmm
