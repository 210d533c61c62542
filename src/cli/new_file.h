// Creates a file for the output of a command, such as a backup. The file must not exist yet, and
// only the user who runs the command can access it. The error message names the file and the reason
// why it cannot be written, and the remedy says what to do.

#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace paravane::cli {

struct FileRefusal {
  std::string problem;
  std::string remedy;
};

// Checks as much as possible without writing, before the user is asked for a passphrase.
std::expected<void, FileRefusal> check_new_file(const std::string& file);

// Writes the file with mode 0600. The file is on the disk when the function returns; after an
// error, the part that was written is deleted.
std::expected<void, FileRefusal> write_new_file(const std::string& file, std::string_view bytes);

}  // namespace paravane::cli
