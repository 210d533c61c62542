// VMs as a table: a row for each adapter.

#pragma once

#include <vector>

#include "control/text_table.h"
#include "control/vm.h"

namespace paravane::cli {

control::TextTable adapter_table(const std::vector<control::VmStatus>& vms);

}  // namespace paravane::cli
