// ACTIVATE: checks everything that the shared region refers to before the data path starts: both
// slots and both device rings must be accessible.

#pragma once

#include "base/result.h"
#include "device/shared_region.h"
#include "guestmem/guest_memory.h"
#include "guestmem/page_list.h"

namespace paravane::device {

struct DeviceRings {
  PageList completion;
  PageList async;
};

// Errors: kOutOfRange, kInvalidArgument, with what was wrong.
Result<DeviceRings> map_device_rings(GuestMemory& memory, const SharedRegion& region);

}  // namespace paravane::device
