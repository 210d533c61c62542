// make_device_spec(): describes the PCI function of the device, with its configuration space and
// its BARs, for the vfio-user server.
//
// Each page of BAR2 is either mapped or trapped. A mapped page is memory that the VM shares with
// the daemon. When the guest accesses a trapped page, the VMM sends a message to the daemon.
//
// The device's configuration selects one of two modes. In the mapped mode, all pages except page 0
// are mapped. In the trapped mode, all pages that the guest uses are trapped, BAR2 is twice as
// large, and only the last page of BAR2, which the guest never uses, can be mapped.
//
// That last page exists because of the way in which QEMU writes to the device. If QEMU cannot map
// any part of the device, it posts writes, which means that it does not wait for the answer to a
// write. This would break the guest's driver, which reads the shared region right after it has
// written DSRHIGH.
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
