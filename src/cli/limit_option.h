// --limit NAME=NUMBER of `paravane vm add`.

#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "control/vm.h"

namespace paravane::cli {

// Errors: kInvalidArgument, naming what may be limited.
Status set_limit(std::string_view option, control::VmLimits& limits);

// The option's description, with the names of all limits.
std::string limit_help();

}  // namespace paravane::cli
