// What an engine leaves behind becomes a child of the keeper: the process that releases its memory
// (daemon/memory_releaser), which ends a moment later.

#pragma once

#include <sys/types.h>

#include <span>

namespace paravane::keeper {

// Has what descendants leave behind become children of this process, wherever it runs: a container
// may have no other process that takes note of their end. The setting outlives execve().
void adopt_orphans();

// Takes note of the ends of children that are not among `ours`. One of `ours` that has ended
// delays the rest until the next call.
void bury_orphans(std::span<const pid_t> ours);

}  // namespace paravane::keeper
