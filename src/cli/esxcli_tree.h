// The namespaces of esxcli that paravane has, as groups of commands: "network nic",
// "rdma device protocol". Commands of several files hang in one namespace, so none of
// them makes it: each asks for it here. Under the name `esxcli` these are all there is.

#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "cli/commands.h"

namespace paravane::cli {

// The group at `path` below `root`, made with all above it where it is not there yet.
// REQUIRES: it is one of esxcli's (the table in esxcli_tree.cc).
CLI::App& esxcli_group(CLI::App& root, std::string_view path);

// A command with all groups above it. `examples`: what follows the program's name, a line
// each; none: the path. REQUIRES: its group is one of esxcli's.
CLI::App& add_esxcli_command(CLI::App& root, std::string_view path, const std::string& description,
                             const std::vector<std::string>& examples = {});

// All commands in esxcli's namespaces.
void add_esxcli_commands(CLI::App& root, Run& run);

}  // namespace paravane::cli
