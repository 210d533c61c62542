// Handles guest memory that fails during an access, because the VMM has truncated the file, a
// hugetlb pool is exhausted, or a page has a memory error. The kernel reports this with the signal
// SIGBUS in the middle of a copy.
//
// The signal handler replaces the whole mapping of the file with zero pages, so that the copy can
// continue, and marks the file as failed. After the copy, the code checks the mark (Reach::kFailed,
// or false from copy_payload()), and the VM loses its device. Other VMs are not affected. Any other
// SIGBUS ends the process as usual.
//
// A thread that copies guest memory must not block SIGBUS. A system call on failed memory returns
// EFAULT instead of a signal, and its caller must treat that in the same way.

#pragma once

#include "base/result.h"

namespace paravane {

// Installs the handler. Call it once, before the first GuestMemory::map(). Errors: kIo.
Status install_memory_failure_handler();

}  // namespace paravane
