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

}  // namespace paravane::cli
