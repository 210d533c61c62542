// A client of a UNIX socket on which a VM's QEMU listens.

#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane::vmm {

// However long the directory's path is. Does not wait, not even for a QEMU that hangs: with
// few who want to be let in it takes no more. Errors: kNotFound (nobody listens there), kIo.
Result<UniqueFd> connect_to(const std::string& directory, const char* name);

}  // namespace paravane::vmm
