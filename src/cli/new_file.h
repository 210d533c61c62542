// NewFile: a file that a command writes where none was, for the user alone. A refusal names the
// file, why it cannot be written, and what to do.

#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace paravane::cli {

struct FileRefusal {
  std::string problem;
  std::string remedy;
};

// What can be known without writing: before the user is asked for a passphrase.
std::expected<void, FileRefusal> check_new_file(const std::string& file);

// With mode 0600, and on the disk when it returns. Of one that is refused nothing is left.
std::expected<void, FileRefusal> write_new_file(const std::string& file, std::string_view bytes);

}  // namespace paravane::cli
