// The namespaces of esxcli that this program supports, such as "network nic" and "rdma device
// protocol", as groups of commands in the command line parser.
//
// Several source files add commands to the same namespace. The groups are therefore created here,
// when a command first needs them. If the program was started as `esxcli`, it has no commands
// outside these namespaces.

#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "cli/commands.h"

namespace paravane::cli {

// Returns the group at `path` below `root`. Creates it and the groups above it if they do not exist
// yet. REQUIRES: `path` is in the table in esxcli_tree.cc.
CLI::App& esxcli_group(CLI::App& root, std::string_view path);

// Adds a command and all groups above it. `examples`: example command lines without the program's
// name; if there are none, the path serves as the example. REQUIRES: the command's group is in the
// table in esxcli_tree.cc.
CLI::App& add_esxcli_command(CLI::App& root, std::string_view path, const std::string& description,
                             const std::vector<std::string>& examples = {});

// Adds all commands in the namespaces of esxcli.
void add_esxcli_commands(CLI::App& root, Run& run);

}  // namespace paravane::cli
