// Limits this process to the system calls that it needs to serve VMs (seccomp). A system call that
// only an attacker would make ends the process. Every other system call that is not needed returns
// ENOSYS, as if the kernel did not support it. A library that tries a newer call therefore falls
// back to an older one.

#pragma once

#include <linux/filter.h>

#include <vector>

#include "base/result.h"

namespace paravane::daemon {

// Applies to the calling thread and all threads that it will create. REQUIRES: PR_SET_NO_NEW_PRIVS.
// `uses_hca`: the calls to an RDMA adapter's driver are allowed as well. Errors: kIo.
Status filter_system_calls(bool uses_hca);

// After this call, no thread can connect to a listener on this host. It comes later than
// filter_system_calls(), because the start probes existing socket files for a listener. No filter
// can be added afterwards. REQUIRES: filter_system_calls(). Errors: kIo.
Status end_connecting();

// Of the holder: the calling thread can receive, hold and send descriptors, and nothing else.
// REQUIRES: PR_SET_NO_NEW_PRIVS. Errors: kIo.
Status allow_holding_only();

// Of the memory releaser (daemon/memory_releaser.h), as a program for a process that cannot call
// the library: it can wait for the engine's end, and end. Errors: kIo.
Result<std::vector<sock_filter>> releasing_only();

}  // namespace paravane::daemon
