// Restricts access to files by their paths (Landlock). Afterwards, this process can write only to
// files in its own directories, so it cannot write to a device. It also cannot execute any file.
// Landlock also prevents the process from opening the memory of other processes of the same user
// and from tracing them.

#pragma once

#include <filesystem>
#include <span>

#include "base/result.h"

namespace paravane::daemon {

// Whether the kernel supports Landlock (since Linux 5.13) and has it enabled.
bool has_file_rules();

// Restricts the calling thread and all threads that it will create, permanently. Open files stay
// open. Does nothing without has_file_rules(). A directory that does not exist is skipped.
// REQUIRES: PR_SET_NO_NEW_PRIVS. Errors: kIo.
Status restrict_files(std::span<const std::filesystem::path> own_directories);

}  // namespace paravane::daemon
