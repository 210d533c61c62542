// What this process may still do with files, by path (Landlock): it writes to files in its
// own directories alone, so to no device, and runs none. With it goes what a user has in
// its other processes: their memory is no file of ours any more, nor do we trace them.

#pragma once

#include <filesystem>
#include <span>

#include "base/result.h"

namespace paravane::daemon {

// Whether the kernel has Landlock (Linux 5.13, and not switched off).
bool has_file_rules();

// For this thread and all it will make, for good; files that are open stay so. Without
// has_file_rules() nothing happens. A directory that is not there gets no rule.
// REQUIRES: PR_SET_NO_NEW_PRIVS. Errors: kIo.
Status restrict_files(std::span<const std::filesystem::path> own_directories);

}  // namespace paravane::daemon
