// Connects to a UNIX socket on which a VM's QEMU listens, such as its QMP socket or serial console.

#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane::vmm {

// Works for a directory path of any length. It never blocks, even if QEMU hangs, because a full
// listen queue is an error. Errors: kNotFound (no listener), kIo.
Result<UniqueFd> connect_to(const std::string& directory, const char* name);

}  // namespace paravane::vmm
