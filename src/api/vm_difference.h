// The differences between two configurations of a VM, by their names in the API, for users and
// tools that are told that a VM was changed.
//
// Any thread.

#pragma once

#include <string>
#include <vector>

#include "model/vm.h"

namespace paravane::api {

// "cpus", "protocol", "queue_pairs": in the order of names, each once. Empty: nothing is.
std::vector<std::string> changed_properties(const model::VmSpec& before,
                                            const model::VmSpec& after);

}  // namespace paravane::api
