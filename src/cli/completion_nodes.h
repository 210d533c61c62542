// The commands of a program and what may follow each, as the parser knows them, for shells
// that complete a line.

#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/completion_values.h"

namespace paravane::cli {

struct CompletionOption {
  std::vector<std::string> names;  // with their dashes, long ones first
  bool has_value = false;          // a word of its own follows
  Values values{};
};

// What may follow one command.
struct CompletionNode {
  std::string path;  // "vm add"; "" for the program itself
  std::vector<std::string> subcommands;
  std::vector<CompletionOption> options;
  std::vector<Values> arguments;  // in their order
};

// The program's own comes first.
std::vector<CompletionNode> completion_nodes(const CLI::App& root);

}  // namespace paravane::cli
