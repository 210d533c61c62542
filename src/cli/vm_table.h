// VMs as a table: a row for each adapter.

#pragma once

#include <vector>

#include "cli/context.h"
#include "control/text_table.h"
#include "control/vm.h"
#include "vmm/places.h"

namespace paravane::cli {

// `runners`: one for each VM, of those that we run.
control::TextTable adapter_table(const std::vector<control::VmStatus>& vms,
                                 const std::vector<vmm::Runner>& runners);

// Looks which of them run, and prints the table.
void print_vms(const std::vector<control::VmStatus>& vms, const Context& context);

// Whether a VMM is attached to any of its adapters; 0: none, or its process is not known.
bool is_attached(const control::VmStatus& vm);
int vmm_of(const control::VmStatus& vm);

}  // namespace paravane::cli
