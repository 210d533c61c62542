// What a VM needs before power-on, as the daemon and QEMU's side know it: for `vm check`,
// and for `vm start`, which does not try what cannot be.

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

// `named`: with a column for the VM's name.
text::TextTable check_table(const std::vector<CheckedVm>& vms, bool named);

// An array of the API's rows, each with "vm".
nlohmann::json checks_json(const std::vector<CheckedVm>& vms);

// By whom it is started: what that one may and where it looks counts.
enum class Starter : std::uint8_t {
  kUs,
  kUnit,  // has_vm_unit()
};

// Errors: as ApiClient::check_vm().
model::ApiResult<std::vector<model::CheckRow>> check_whole_vm(const model::VmStatus& vm,
                                                              const Context& context,
                                                              Starter starter);

// Says on stderr what is not as it should be. Else than kOk: a start has no sense.
ExitStatus check_before_start(const model::VmStatus& vm, const Context& context, Starter starter);

}  // namespace paravane::cli
