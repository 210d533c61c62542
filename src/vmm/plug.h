// Adds a new adapter to a running VM that Paravane started. Hot removal is not possible
// (vmm/hot_add.h).

#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/vm.h"
#include "vmm/places.h"

namespace paravane::vmm {

// REQUIRES: the adapter is there, each has its mac, and the VM runs. Waits some seconds for
// the tap of a port group, which the daemon is about to make.
// Errors: kNotFound, kIo, kBadState (QEMU refuses, with its reason).
Status plug(const model::VmStatus& vm, std::uint32_t adapter, const Places& places);

}  // namespace paravane::vmm
