// VMs as tables: a row for each adapter.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/context.h"
#include "model/vm.h"
#include "text/text_table.h"
#include "vmm/places.h"

namespace paravane::cli {

// `runners`: one for each VM, of those that we run.
text::TextTable adapter_table(const std::vector<model::VmStatus>& vms,
                              const std::vector<vmm::Runner>& runners);
// What fits into 80 columns. It leaves out the problems.
text::TextTable short_vm_table(const std::vector<model::VmStatus>& vms,
                               const std::vector<vmm::Runner>& runners);

// Looks whether we run it.
vmm::Runner runner_of(const std::string& vm);
// Looks which of them run, and prints them: as JSON what the API has of each and whether it
// runs; as a table, if not `wide`, the short one, and the problems on stderr.
void print_vms(const std::vector<model::VmStatus>& vms, const Context& context, bool wide = false);
// The same of one: as JSON no array.
void print_vm(const model::VmStatus& vm, const Context& context);
// The object of the API, with the column Power, and Problem as shown here.
nlohmann::json vm_json(const model::VmStatus& vm, const vmm::Runner& runner);

// What the columns Power and Problem say.
std::string power_of(const model::VmStatus& vm, const vmm::Runner& runner);
std::string problem_of(const model::AdapterStatus& adapter, const vmm::Runner& runner);

// Whether a VMM is attached to any of its adapters; 0: none, or its process is not known.
bool is_attached(const model::VmStatus& vm);
int vmm_of(const model::VmStatus& vm);

}  // namespace paravane::cli
