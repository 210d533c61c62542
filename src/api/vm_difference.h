// changed_properties(): returns the names of the properties that differ between two configurations
// of a VM. The API uses the same names. The event about a changed VM contains these names.
//
// Stateless, any thread.

#pragma once

#include <string>
#include <vector>

#include "model/vm.h"

namespace paravane::api {

// Names such as "cpus", "protocol" and "queue_pairs", sorted and without duplicates; empty: the
// configurations are equal.
std::vector<std::string> changed_properties(const model::VmSpec& before,
                                            const model::VmSpec& after);

}  // namespace paravane::api
