// From what was asked of a VM to what its device is made with.

#pragma once

#include "control/vm.h"
#include "daemon/host.h"
#include "daemon/vm_port.h"

namespace paravane::daemon {

// REQUIRES: spec.mac.
VmPortConfig make_port_config(const control::VmSpec& spec, const HostConfig& host);

}  // namespace paravane::daemon
