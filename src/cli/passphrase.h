// Reads a passphrase at the terminal without showing it, or from a file descriptor that another
// program has opened. A passphrase is never an argument of a command, because all users of the host
// can read the arguments of a process.

#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace paravane::cli {

// `descriptor`: its first line is the passphrase; nullopt: the user types it at the terminal.
// `again`: the passphrase is new and must be typed twice. Errors: kIo (no terminal, or no input),
// kInvalidArgument (the two inputs differ).
Result<std::string> read_passphrase(const std::optional<int>& descriptor, bool again);

// Prints `question` and reads the answer at the terminal. False: the answer is not yes. Errors: kIo
// (no terminal).
Result<bool> confirm(const std::string& question);

}  // namespace paravane::cli
