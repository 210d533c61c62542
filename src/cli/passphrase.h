// Passphrase: how a command asks for one: at the terminal, without showing it, or from a
// descriptor that another program has opened. Never from an argument, which all users of the host
// can read.

#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace paravane::cli {

// `descriptor`: its first line; nullopt: the terminal's. `again`: it is new, and typed twice.
// Errors: kIo (no terminal, nothing came), kInvalidArgument (not the same twice).
Result<std::string> read_passphrase(const std::optional<int>& descriptor, bool again);

// Prints `question` and reads an answer at the terminal. False: anything but yes. Errors: kIo: no
// terminal.
Result<bool> confirm(const std::string& question);

}  // namespace paravane::cli
