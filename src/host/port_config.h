// Converts the configuration of a VM to the configuration of the device of each adapter.

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

// Of every adapter.
std::vector<model::AdapterName> adapter_names(const model::VmSpec& spec);

}  // namespace paravane::host
