// Completion scripts for shells, made from the commands and options that the
// parser knows, so that they cannot fall behind.

#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
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
std::vector<CompletionNode> completion_nodes(const CLI::App& root);

// `shell` is bash, zsh or fish; empty result: another one.
std::string completion_script(const CLI::App& root, std::string_view shell);

}  // namespace paravane::cli
