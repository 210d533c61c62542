// What a VM needs before power-on, as the daemon and QEMU's side know it: for `vm check`,
// and for `vm start`, which does not try what cannot be.

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/context.h"
#include "control/check_row.h"
#include "control/text_table.h"
#include "control/vm.h"

namespace paravane::cli {

using CheckedVm = std::pair<std::string, std::vector<control::CheckRow>>;  // with its name

// `named`: with a column for the VM's name.
control::TextTable check_table(const std::vector<CheckedVm>& vms, bool named);

// By whom it is started: what that one may and where it looks counts.
enum class Starter : std::uint8_t {
  kUs,
  kUnit,  // has_vm_unit()
};

// Errors: as ApiClient::check_vm().
control::ApiResult<std::vector<control::CheckRow>> check_whole_vm(const control::VmStatus& vm,
                                                                  const Context& context,
                                                                  Starter starter);

// Says on stderr what is not as it should be. Else than kOk: a start has no sense.
ExitStatus check_before_start(const control::VmStatus& vm, const Context& context, Starter starter);

}  // namespace paravane::cli
