// check_directory(): checks that a directory exists and that this process can write to it. The
// error message states what is wrong and how to fix it.
//
// Any thread.

#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace paravane {

// `setting` is the key in paravaned.toml that names the directory. Errors: kIo, with the path, the
// cause and the remedy.
Status check_directory(const std::filesystem::path& directory, std::string_view setting);

}  // namespace paravane
