// VMs as tables with a row for each adapter, and as JSON. The columns Power and Problem combine the
// daemon's information with the state of the QEMU process.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/context.h"
#include "model/vm.h"
#include "text/text_table.h"
#include "vmm/places.h"

namespace paravane::cli {

// `runners`: the state of the QEMU process of each VM, in the order of `vms`.
text::TextTable adapter_table(const std::vector<model::VmStatus>& vms,
                              const std::vector<vmm::Runner>& runners);
// A table that fits into 80 columns. It does not show problems.
text::TextTable short_vm_table(const std::vector<model::VmStatus>& vms,
                               const std::vector<vmm::Runner>& runners);

// Finds out whether this program runs the VM.
vmm::Runner runner_of(const std::string& vm);
// Finds out which of the VMs run, and prints them. JSON contains the object of the API and the
// power state of each VM. A table is the short one, with the problems on stderr, unless `wide` is
// set.
void print_vms(const std::vector<model::VmStatus>& vms, const Context& context, bool wide = false);
// Prints one VM in the same way. JSON is one object, not an array.
void print_vm(const model::VmStatus& vm, const Context& context);
// The object of the API, with the values of the columns Power and Problem as the tables show them.
nlohmann::json vm_json(const model::VmStatus& vm, const vmm::Runner& runner);

// The values of the columns Power and Problem.
std::string power_of(const model::VmStatus& vm, const vmm::Runner& runner);
std::string problem_of(const model::AdapterStatus& adapter, const vmm::Runner& runner);

// Whether a VMM is attached to any adapter of the VM, and the id of its process (0: no VMM is
// attached, or its process is unknown).
bool is_attached(const model::VmStatus& vm);
int vmm_of(const model::VmStatus& vm);

}  // namespace paravane::cli
