// tell_that_it_is_lost() tells a guest that the objects of its device are gone, because the process
// that had them was killed. All that is known is where the guest's driver has put its slots and
// rings.
//
// Owner thread only. Source: docs/device-spec.md, sections 3 and 6.

#pragma once

#include "device/interrupt_lines.h"
#include "device/shared_region.h"
#include "guestmem/guest_memory.h"

namespace paravane::device {

// The driver may be waiting for the response to a command: it gets one to no command, which it
// takes for a failure. Its programs get the event DEVICE_FATAL, if the ring of events has room. All
// vectors are raised; what waits for completions looks, and finds none.
//
// Vector 0 without a response is safe here alone, since every later command fails by the register
// ERR, which the driver reads before it waits.
void tell_that_it_is_lost(GuestMemory& memory, const SharedRegion& region, InterruptLines& lines);

}  // namespace paravane::device
