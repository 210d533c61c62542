// Where the daemon serves the LUNs that a VM has as disks.

#pragma once

#include "cli/context.h"
#include "model/lun_disk.h"
#include "model/vm.h"

namespace paravane::cli {

// Empty: the VM has no LUNs. Asks the daemon; a LUN that is not there now has the place that it
// would have.
model::LunSockets lun_sockets_of(const model::VmStatus& vm, const Context& context);

}  // namespace paravane::cli
