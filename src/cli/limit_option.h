// --limit NAME=NUMBER of `paravane vm add` and `vm set`.

#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/vm.h"
#include "model/vm_change.h"

namespace paravane::cli {

// Errors: kInvalidArgument, naming what may be limited.
Status set_limit(std::string_view option, model::VmLimits& limits);

// The same of a VM that exists; NAME=default takes a limit away.
Result<model::LimitChange> parse_limit(std::string_view option);

// The option's description, with the names of all limits.
std::string limit_help();

}  // namespace paravane::cli
