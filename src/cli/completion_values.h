// What may stand for an option's value or an argument, for shells that complete it: words
// that are known beforehand, names that a command lists, or files.

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
  kAdapter,  // numbers of the adapters of the VM that is named before
  kFile,
};

struct Values {
  ValueKind kind = ValueKind::kUnknown;
  std::vector<std::string> words{};  // with kListed: offered beside
  std::string list{};                // "vm list"

  friend bool operator==(const Values&, const Values&) = default;
};

// `path` is the command's, "vm set".
Values values_of(std::string_view path, const CLI::Option& option);

// Of kListed: a command that prints the names of the daemon's list, and nothing that is no name: a
// shell expands what it is to complete from, commands in it included, and the daemon may have been
// broken into.
std::string list_command(const Values& values);

}  // namespace paravane::cli
