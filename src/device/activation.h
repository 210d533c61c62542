// map_device_rings(): checks everything that the device shared region (shared_region.h) refers to,
// when the guest's driver activates the device. The command slot, the response slot and the pages
// of the two device rings must be accessible. The function also maps the pages of the rings.
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

// How many pages a device ring can have.
inline constexpr std::uint32_t kMinRingPages = 2;  // the driver takes four
inline constexpr std::uint32_t kMaxRingPagesOfDevice = 1024;

// Errors: kOutOfRange, kInvalidArgument; the message says what is wrong.
Result<DeviceRings> map_device_rings(GuestMemory& memory, const SharedRegion& region);

}  // namespace paravane::device
