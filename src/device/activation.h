// map_device_rings(): checks everything that the shared region refers to, when the guest's driver
// activates the device. The command slot and the response slot must be accessible, and so must the
// pages of the two device rings, which it maps.
//
// Owner thread only. Source: docs/device-spec.md, sections 2 and 4.

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

// Errors: kOutOfRange, kInvalidArgument; the message says what is wrong.
Result<DeviceRings> map_device_rings(GuestMemory& memory, const SharedRegion& region);

}  // namespace paravane::device
