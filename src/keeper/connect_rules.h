// Restricts the TCP ports that this process may connect to (Landlock's network rules).
//
// For a child between fork and exec: it allocates nothing and takes no lock.

#pragma once

#include <cstdint>

namespace paravane::keeper {

// Whether the kernel has them (Linux 6.7, and Landlock not switched off).
bool has_connect_rules();

// For this thread and all it will make and run, for good: it connects by TCP to this port
// alone. Without has_connect_rules() nothing happens. False: the kernel refused; errno says
// why. REQUIRES: PR_SET_NO_NEW_PRIVS.
bool connect_only_to(std::uint16_t port);

}  // namespace paravane::keeper
