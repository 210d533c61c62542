// The namespaces of esxcli that paravane has, as groups of commands: "network nic",
// "rdma device protocol". Commands of several files hang in one namespace, so none of
// them makes it: each asks for it here.

#pragma once

#include <CLI/CLI.hpp>
#include <string_view>

namespace paravane::cli {

// The group at `path` below `root`, made with all above it where it is not there yet.
// REQUIRES: it is one of esxcli's (the table in esxcli_tree.cc).
CLI::App& esxcli_group(CLI::App& root, std::string_view path);

}  // namespace paravane::cli
