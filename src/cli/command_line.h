// The whole command line of paravane: options, commands, help.

#pragma once

#include <span>
#include <string>

#include "cli/context.h"

namespace paravane::cli {

// Parses and runs. `arguments` without the program's name.
ExitStatus run_command_line(std::span<const char* const> arguments);

}  // namespace paravane::cli
