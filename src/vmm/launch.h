// Starts the QEMU of a VM with the caller's rights. It takes the VM's lock, opens the taps,
// switches to QEMU's own user, and calls execve(). No shell is involved. QEMU inherits only its
// taps, the lock and the log.

#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "model/lun_disk.h"
#include "model/vm.h"
#include "vmm/places.h"

namespace paravane::vmm {

enum class Output : std::uint8_t {
  kInherited,  // what QEMU says goes where what we say goes
  kLog,        // to the VM's log
};

// Describes what the VM needs and the daemon has not created yet, such as a tap while the daemon
// waits for its cluster after a boot. Empty: nothing is missing.
std::string not_there_yet(const model::VmStatus& vm);

// Replaces this process by QEMU; it returns only if that fails. The working directory, the user and
// its limits may have changed by then. `luns`: the sockets of the VM's LUNs. REQUIRES: each
// adapter's mac is set. Errors: kBadState (the
// VM is running), kNotFound, kIo, kUnsupported; each with the remedy.
Error launch(const model::VmStatus& vm, const Places& places, Output output,
             const model::LunSockets& luns = {});

// Starts QEMU in a new process without a terminal. When this returns, QEMU is running, or has
// failed with the returned error.
Result<pid_t> launch_detached(const model::VmStatus& vm, const Places& places,
                              const model::LunSockets& luns = {});

}  // namespace paravane::vmm
