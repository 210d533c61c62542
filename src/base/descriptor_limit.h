// Detects that a process has run out of file descriptors, and provides an error message with a
// remedy. The kernel's own text ("Too many open files") names neither the limit nor the place where
// it is set.
//
// Any thread.

#pragma once

#include <string_view>
#include <system_error>

#include "base/result.h"

namespace paravane {

inline constexpr std::string_view kRaiseDescriptorLimit =
    "Raise LimitNOFILE= of paravaned.service (systemctl edit paravaned), or ulimit -n, or remove "
    "VMs.";

// Whether the cause is that this process, or the machine, has no descriptor left.
inline bool is_out_of_descriptors(const Error& error) {
  return error.cause == std::errc::too_many_files_open ||
         error.cause == std::errc::too_many_files_open_in_system;
}

}  // namespace paravane
