// Converts a VM's configuration, as the operator sees it, to the configuration that the worker
// needs for each adapter.

#pragma once

#include <string>
#include <vector>

#include "host/host.h"
#include "model/adapter_name.h"
#include "model/vm.h"
#include "worker/vm_port.h"

namespace paravane::host {

// REQUIRES: adapter.mac; `adapter` is one of the spec's.
worker::VmPortConfig make_port_config(const model::VmSpec& spec, const model::AdapterSpec& adapter,
                                      const HostConfig& host);

// The names of all adapters of the VM.
std::vector<model::AdapterName> adapter_names(const model::VmSpec& spec);

}  // namespace paravane::host
