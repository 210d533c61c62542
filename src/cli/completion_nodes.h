// Lists the commands of a program with their subcommands, options and arguments, as they are
// defined in the command line parser. The completion scripts for shells are generated from this
// list.

#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/completion_values.h"

namespace paravane::cli {

struct CompletionOption {
  std::vector<std::string> names;  // with their dashes, long ones first
  bool has_value = false;          // a value follows as a separate word
  Values values{};
};

// One command, and the words that may follow it.
struct CompletionNode {
  std::string path;  // "vm add"; "" for the program itself
  std::vector<std::string> subcommands;
  std::vector<CompletionOption> options;
  std::vector<Values> arguments;  // in their order
};

// All commands below `root`. The node of the program itself is the first.
std::vector<CompletionNode> completion_nodes(const CLI::App& root);

}  // namespace paravane::cli
