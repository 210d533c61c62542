// What happens when guest memory fails under us: the VMM shrank the file, a
// hugetlb pool ran dry, or a page had a memory error. The kernel says so with
// SIGBUS, in the middle of a copy.
//
// The handler puts anonymous zero pages over that one file's whole mapping, so
// the interrupted access goes on harmlessly, and marks the file as failed.
// Whoever copied looks at the mark afterwards (Reach::kFailed, or false from
// copy_payload) and the VM loses its device; nobody else notices. A SIGBUS
// anywhere else ends the process as before.
//
// A thread that copies guest memory must not block SIGBUS: the kernel kills the
// process for a failure that it cannot deliver. A system call that is handed
// guest memory returns EFAULT instead of a signal; its caller treats that as
// failed memory.
//
// The table that the handler searches is the one process-wide mutable object of
// this program: a signal handler has no other way to find anything.

#pragma once

#include "base/result.h"

namespace paravane {

// Call once, before the first GuestMemory::map(). Errors: kIo.
Status install_memory_failure_handler();

}  // namespace paravane
