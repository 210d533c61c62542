// Describes a VM with its adapters as the XML of a libvirt domain, for `virsh define`.

#pragma once

#include <string>

#include "base/result.h"
#include "model/vm.h"
#include "vmm/qemu_arguments.h"

namespace paravane::vmm {

// REQUIRES: each adapter's mac is set. Errors: kInvalidArgument, with the name of the option.
Result<std::string> libvirt_xml(const model::VmStatus& vm, const VmmOptions& options);

}  // namespace paravane::vmm
