// One VM as a record for `paravane vm show`, with its configuration, its state, and a record for
// each adapter.

#pragma once

#include "model/vm.h"
#include "text/text_records.h"
#include "vmm/places.h"

namespace paravane::cli {

text::TextRecord vm_record(const model::VmStatus& vm, const vmm::Runner& runner);

}  // namespace paravane::cli
