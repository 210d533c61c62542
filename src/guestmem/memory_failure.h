// Handles failing guest memory: the VMM truncated the file, a hugetlb pool ran dry, or a page had
// a memory error. The kernel reports that with SIGBUS, in the middle of a copy.
//
// The handler maps anonymous zero pages over the whole mapping of that file, so the interrupted
// access continues harmlessly, and marks the file as failed. The code that copied checks the mark
// afterwards (Reach::kFailed, or false from copy_payload), and the VM loses its device; other VMs
// are not affected. Any other SIGBUS ends the process as before.
//
// A thread that copies guest memory must not block SIGBUS: the kernel kills the process if it
// cannot deliver the signal. A system call on guest memory returns EFAULT instead of a signal; its
// caller treats that as failed memory.
//
// The table that the handler searches is the one mutable global of this program: a signal handler
// has no other way to find anything.

#pragma once

#include "base/result.h"

namespace paravane {

// Call once, before the first GuestMemory::map(). Errors: kIo.
Status install_memory_failure_handler();

}  // namespace paravane
