// Adds a new adapter to a running VM that Paravane started. Hot removal is not possible;
// vmm/hot_add.h explains why.

#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/vm.h"
#include "vmm/places.h"

namespace paravane::vmm {

// Waits some seconds for the daemon to create the tap of a port group. REQUIRES: `vm` contains the
// adapter, each adapter's mac is set, and the VM is running. Errors: kNotFound, kIo, kBadState
// (QEMU refuses; the text has its reason).
Status plug(const model::VmStatus& vm, std::uint32_t adapter, const Places& places);

}  // namespace paravane::vmm
