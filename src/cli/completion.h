// Completion scripts for shells, made from the commands and options that the
// parser knows, so that they cannot fall behind.

#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace paravane::cli {

// What may follow one command.
struct CompletionNode {
  std::string path;                      // "vm add"; "" for the program itself
  std::vector<std::string> subcommands;  // or the words that its argument may be
  std::vector<std::string> options;      // long ones, with their dashes
  std::string lists{};  // its argument is a name that this command lists ("vm"), or none
};
std::vector<CompletionNode> completion_nodes(const CLI::App& root);

// `shell` is bash, zsh or fish; empty result: another one.
std::string completion_script(const CLI::App& root, std::string_view shell);

}  // namespace paravane::cli
