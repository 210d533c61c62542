// Restricts the calling process to TCP connections to one port, by Landlock's network rules. A
// child process calls this code between fork and exec, so the code allocates no memory and takes no
// locks.

#pragma once

#include <cstdint>

namespace paravane::keeper {

// Whether the kernel has such rules (Linux 6.7 or later, with Landlock enabled).
bool has_connect_rules();

// From now on this thread, and all threads and programs that it starts, can connect by TCP to this
// port only. Does nothing if has_connect_rules() is false. False: the kernel refused; errno says
// why. REQUIRES: PR_SET_NO_NEW_PRIVS.
bool connect_only_to(std::uint16_t port);

}  // namespace paravane::keeper
