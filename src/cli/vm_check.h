// Checks the requirements for powering on a VM. The daemon checks some of the requirements, and
// this program checks the requirements of QEMU on this host. The command `vm check` prints the
// results, and `vm start` refuses to start a VM that could not run.

#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/context.h"
#include "model/check_row.h"
#include "model/vm.h"
#include "text/text_table.h"

namespace paravane::cli {

using CheckedVm = std::pair<std::string, std::vector<model::CheckRow>>;  // with its name

// `named`: whether the table has a column with the name of the VM.
text::TextTable check_table(const std::vector<CheckedVm>& vms, bool named);

// An array of the rows as the API returns them, each with the additional key "vm".
nlohmann::json checks_json(const std::vector<CheckedVm>& vms);

// The process that starts the VM. Its privileges and its environment decide the results.
enum class Starter : std::uint8_t {
  kUs,
  kUnit,  // has_vm_unit()
};

// Errors: as ApiClient::check_vm().
model::ApiResult<std::vector<model::CheckRow>> check_whole_vm(const model::VmStatus& vm,
                                                              const Context& context,
                                                              Starter starter);

// Prints the problems to stderr. If the result is not kOk, the VM cannot be started.
ExitStatus check_before_start(const model::VmStatus& vm, const Context& context, Starter starter);

}  // namespace paravane::cli
