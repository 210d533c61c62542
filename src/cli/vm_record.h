// A VM as a record: all that was asked for, how it is, and a record for each adapter.

#pragma once

#include "model/vm.h"
#include "text/text_records.h"
#include "vmm/places.h"

namespace paravane::cli {

text::TextRecord vm_record(const model::VmStatus& vm, const vmm::Runner& runner);

}  // namespace paravane::cli
