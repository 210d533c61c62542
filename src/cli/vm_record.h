// A VM as a record: all that was asked for, how it is, and a record for each adapter.

#pragma once

#include "control/text_records.h"
#include "control/vm.h"
#include "vmm/places.h"

namespace paravane::cli {

control::TextRecord vm_record(const control::VmStatus& vm, const vmm::Runner& runner);

}  // namespace paravane::cli
