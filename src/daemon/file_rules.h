// Restricts access to files by path (Landlock): this process may write to files in its own
// directories only, so to no device, and may execute none. The restriction also removes access to
// other processes of the same user: their memory cannot be opened, and they cannot be traced.

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
