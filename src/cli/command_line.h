// The whole command line of paravane: options, commands, help. Called as esxcli, the program
// has esxcli's namespaces alone; as esxcfg-nics or esxcfg-vmknic, that tool's
// one listing.

#pragma once

#include <span>
#include <string_view>

#include "cli/context.h"

namespace paravane::cli {

// Parses and runs. `arguments` without the program's name, which is one of cli/context.h.
ExitStatus run_command_line(std::span<const char* const> arguments,
                            std::string_view program = kParavane);

}  // namespace paravane::cli
