// Explains to an operator what is wrong with a directory that the daemon must write to.

#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace paravane {

// `setting` is the key of paravaned.toml that names it. Errors: kIo, with path,
// cause and remedy.
Status check_directory(const std::filesystem::path& directory, std::string_view setting);

}  // namespace paravane
