// The option --limit NAME=NUMBER of the commands `vm add` and `vm set`. It changes one limit of a
// VM's adapters, such as the maximum number of queue pairs.

#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/vm.h"
#include "model/vm_change.h"

namespace paravane::cli {

// Sets a limit of a new VM. Errors: kInvalidArgument; the message lists the names of all limits.
Status set_limit(std::string_view option, model::VmLimits& limits);

// Parses a change of an existing VM's limit. NAME=default removes the limit. Errors: as
// set_limit().
Result<model::LimitChange> parse_limit(std::string_view option);

// The description of the option for --help, with the names of all limits.
std::string limit_help();

}  // namespace paravane::cli
