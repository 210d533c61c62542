// The memory releaser is a process that shares the engine's memory and ends after it.
//
// The last process that uses an address space waits in its end until the kernel has taken that
// down: tens of milliseconds (two RCU grace periods) if it has used asynchronous I/O
// (base/event_signal.h), and 85 ms for each GiB that it had mapped and accessed. The VMs would wait
// with the heir of the engine, which may serve them only when the engine has ended. So the engine
// is not the last: the releaser is. It executes nothing of the engine's. The keeper ends one that
// stays (keeper/orphans.h). Why not the kernel, by PR_SET_PDEATHSIG: the signal comes when the
// engine's first thread has ended, and then another of its threads may be the last.

#pragma once

#include <linux/filter.h>

#include <span>

#include "base/result.h"

namespace paravane::daemon {

// Starts it as a child of this process, with keeper::kReleasersName, under `filter` (seccomp;
// empty: none), with no descriptor but the one that tells it of the end of this process. It has the
// rights of this process. REQUIRES: this process has one thread, and PR_SET_NO_NEW_PRIVS where
// there is a filter. Once. Errors: kIo.
Status start_memory_releaser(std::span<const sock_filter> filter);

// Ends it, and returns when it has left the memory. From then on this process is the last of its
// memory. Call it before memory is mapped through which a device reaches guests' memory: the queue
// pairs of an RDMA adapter live until they are unmapped, and may not outlive the engine. One
// thread; does nothing if there is no releaser.
void end_memory_releaser();

}  // namespace paravane::daemon
