// The system calls that serving guests needs (seccomp). Calls that only an attacker would make end
// the process; any other call returns ENOSYS, as on a kernel without it, so that a library that
// tries something newer falls back.

#pragma once

#include "base/result.h"

namespace paravane::daemon {

// For this thread and all it will make. REQUIRES: PR_SET_NO_NEW_PRIVS. Errors: kIo.
Status filter_system_calls();

// Later: whoever listens on this host is not connected to from now on, by no thread.
// (Before, a socket file in our way is asked whether somebody still listens.) No filter
// can be added then. REQUIRES: filter_system_calls(). Errors: kIo.
Status end_connecting();

}  // namespace paravane::daemon
