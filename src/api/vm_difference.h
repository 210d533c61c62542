// changed_properties(): the names of the properties in which two configurations of a VM differ. The
// names are those of the API. The event about a changed VM contains them.
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
