// The config space and BARs of the PVRDMA function, as a DeviceSpec.
//
// Mapped mode exposes BAR2's user pages as shared memory and keeps page 0 trapped. Trapped mode
// keeps every page trapped and doubles the size of BAR2: its last page, which no context can have,
// may be mapped. A VMM that can map some part of a device does not post writes to it, and the
// driver reads the shared region right after its write to DSRHIGH.

#pragma once

#include "device/device_config.h"
#include "device/doorbell_pages.h"
#include "vfio_user/pci_device.h"

namespace paravane::device {

// Pages of BAR2.
std::uint32_t doorbell_bar_pages(const DeviceConfig& config);

// REQUIRES: `pages` has doorbell_bar_pages() pages and outlives the result.
vfio_user::DeviceSpec make_device_spec(const DeviceConfig& config, const DoorbellPages& pages);

}  // namespace paravane::device
