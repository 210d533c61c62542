// Parses the command line of the program and runs the command on it.
//
// The program behaves according to the name under which it was started. As `paravane` it has all
// commands. As `esxcli` it has only the commands in the namespaces of VMware's esxcli, and as one
// of the other names of docs/esxcli.md, such as `esxcfg-nics`, it only does what the tool of that
// name does here.

#pragma once

#include <span>
#include <string_view>

#include "cli/context.h"

namespace paravane::cli {

// `arguments` does not include the program's name. `program` is one of the names in cli/context.h.
ExitStatus run_command_line(std::span<const char* const> arguments,
                            std::string_view program = kParavane);

}  // namespace paravane::cli
