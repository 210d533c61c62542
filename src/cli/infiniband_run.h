// Runs a program of InfiniBand on this host's virtual adapters, and says why if that is not
// possible (cli/infiniband_program.h does it).

#pragma once

#include <string>
#include <vector>

#include "cli/context.h"

namespace paravane::cli {

// Returns only if the program could not be run. `door`: the socket for it; empty: the daemon's.
ExitStatus run_infiniband_program(const std::vector<std::string>& words, const std::string& door,
                                  const Context& context);

}  // namespace paravane::cli
