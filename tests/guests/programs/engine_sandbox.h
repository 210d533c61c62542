// The engine's sandbox, for a program that uses an RDMA adapter in it.

#pragma once

#include "base/result.h"

namespace guest {

// Becomes the user nobody, with the engine's own rules for files and its list of system calls. Two
// things are added: /dev/infiniband may be written to, and there is the ioctl() of verbs.
paravane::Status enter_engine_sandbox();

// Whether this process is refused what the engine is: rights of root, devices, sockets of other
// families.
bool is_confined();

}  // namespace guest
