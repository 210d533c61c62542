// make_device_spec(): describes the PCI function of the device, with its configuration space and
// its BARs, for the vfio-user server.
//
// A page of BAR2 is either mapped into the VM as shared memory or trapped, in which case every
// access to it becomes a message to the daemon. In mapped mode, only page 0 is trapped. In trapped
// mode, every page that the guest uses is trapped. BAR2 is then twice as large, and its last page,
// which the guest never uses, may be mapped. The reason is that a VMM which can map part of a
// device does not post its writes. Posted writes would break the driver, which reads the shared
// region right after it has written DSRHIGH.
//
// Stateless, any thread. Source: docs/device-spec.md, sections 1 and 3.

#pragma once

#include "device/device_config.h"
#include "device/doorbell_pages.h"
#include "vfio_user/pci_device.h"

namespace paravane::device {

// The number of pages of BAR2.
std::uint32_t doorbell_bar_pages(const DeviceConfig& config);

// REQUIRES: `pages` has doorbell_bar_pages() pages and outlives the result.
vfio_user::DeviceSpec make_device_spec(const DeviceConfig& config, const DoorbellPages& pages);

}  // namespace paravane::device
