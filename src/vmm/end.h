// Stops a VM that Paravane runs. REQUIRES, for both functions: it is running.

#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/result.h"
#include "vmm/places.h"

namespace paravane::vmm {

// Presses the power button, and again every ten seconds, since a guest that boots does not
// see it; returns when QEMU has ended. Of a VM that is about to start it waits half a minute
// for the button. `waiting` hears how long it has been, every five seconds.
// Errors: kBadState (the guest does not), kNotFound (there is no button), kIo.
Status power_down(const Places& places, const std::string& vm, std::chrono::seconds patience,
                  const std::function<void(std::chrono::seconds)>& waiting);

// As if its cable were pulled. QEMU is asked first, and killed when it does not obey.
// Errors: kIo.
Status cut_power(const Places& places, const std::string& vm);

}  // namespace paravane::vmm
