// Stops a VM that Paravane runs, either with the VM's power button or by cutting the power. Both
// functions require that the VM is running.

#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/result.h"
#include "vmm/places.h"

namespace paravane::vmm {

// Presses the power button, and again every ten seconds, because a guest that is booting does not
// notice it. Returns when QEMU has ended. If the VM is just starting, waits up to half a minute
// until the button exists. `waiting` is called every five seconds with the elapsed time. Errors:
// kBadState (the guest does not shut down), kNotFound (there is no button), kIo.
Status power_down(const Places& places, const std::string& vm, std::chrono::seconds patience,
                  const std::function<void(std::chrono::seconds)>& waiting);

// Ends the VM as if its power cable were pulled. QEMU is asked to quit first, and killed if it does
// not. Errors: kIo.
Status cut_power(const Places& places, const std::string& vm);

}  // namespace paravane::vmm
