// The system calls that serving guests needs (seccomp). Calls that only an attacker would make end
// the process; any other call returns ENOSYS, as on a kernel without it, so that a library that
// tries something newer falls back.

#pragma once

#include "base/result.h"

namespace paravane::daemon {

// For this thread and all it will make. REQUIRES: PR_SET_NO_NEW_PRIVS. Errors: kIo.
Status filter_system_calls();

// Called later: from then on no thread can connect to a listener on this host. (Before that, an
// existing socket file is probed for a listener.) No filter can be added afterwards. REQUIRES:
// filter_system_calls(). Errors: kIo.
Status end_connecting();

}  // namespace paravane::daemon
