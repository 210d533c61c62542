// Determines the values that a shell offers when it completes an option or an argument. These are
// fixed words, the names that another command lists, or files.

#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace paravane::cli {

enum class ValueKind {
  kUnknown,  // nothing is offered
  kWords,    // Values::words
  kListed,   // the first column of what the command Values::list prints
  kAdapter,  // the adapter numbers of the VM named by an earlier argument
  kFile,
};

struct Values {
  ValueKind kind = ValueKind::kUnknown;
  std::vector<std::string> words{};  // with kListed: offered in addition
  std::string list{};                // "vm list"

  friend bool operator==(const Values&, const Values&) = default;
};

// `path`: the words of the command, such as "vm set".
Values values_of(std::string_view path, const CLI::Option& option);

// The shell command that prints the names for a value of kind kListed. It removes everything that
// is not a plain name, because the shell expands the text that it completes from, including
// commands in it, and an attacker may control the daemon's output.
std::string list_command(const Values& values);

}  // namespace paravane::cli
