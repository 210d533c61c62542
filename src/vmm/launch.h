// Starts the QEMU of a VM, with the caller's rights: a lock, taps, QEMU's own user, and then
// execve(). No shell is involved, and QEMU inherits only its taps, the lock and the log.

#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "model/vm.h"
#include "vmm/places.h"

namespace paravane::vmm {

enum class Output : std::uint8_t {
  kInherited,  // what QEMU says goes where what we say goes
  kLog,        // to the VM's log
};

// What the VM needs of the daemon and the daemon has not made yet, in words: at boot a tap,
// for which it must hear from its cluster. Empty: nothing.
std::string not_there_yet(const model::VmStatus& vm);

// Becomes QEMU: returns only when it could not. The working directory, the user and its
// limits may have changed by then. REQUIRES: each adapter's mac.
// Errors: kBadState (the VM runs), kNotFound, kIo, kUnsupported; with the remedy.
Error launch(const model::VmStatus& vm, const Places& places, Output output);

// The same in a process of its own, which belongs to no terminal. It is QEMU when this
// returns, or has said why not.
Result<pid_t> launch_detached(const model::VmStatus& vm, const Places& places);

}  // namespace paravane::vmm
