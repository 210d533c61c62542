// The remedy for a process that is out of file descriptors. The kernel's own text ("Too many open
// files") names neither the limit nor where it is set.

#pragma once

#include <cerrno>
#include <cstring>
#include <string_view>

namespace paravane {

inline constexpr std::string_view kRaiseDescriptorLimit =
    "Raise LimitNOFILE= of paravaned.service (systemctl edit paravaned), or ulimit -n, or remove "
    "VMs.";

// Of the text of an error: was it that this process, or the machine, has no descriptor left?
inline bool is_out_of_descriptors(std::string_view problem) {
  return problem.contains(std::strerror(EMFILE)) || problem.contains(std::strerror(ENFILE));
}

}  // namespace paravane
