// Function: the PCI function as the VMM and the guest control it: config space, bus mastering,
// reset, and disconnection.
//
// It maintains the order that other code relies on: guest memory and interrupts are switched
// before the device is told, and interrupts that the device latched during a reset are dropped.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <span>

#include "guestmem/guest_memory.h"
#include "vfio_user/config_space.h"
#include "vfio_user/counters.h"
#include "vfio_user/interrupts.h"
#include "vfio_user/pci_device.h"

namespace paravane::vfio_user {

class Function {
 public:
  // REQUIRES: check_spec(device.spec()). All must outlive it.
  Function(PciDevice& device, GuestMemory& memory, Interrupts& interrupts, ServerCounters& counters)
      : device_(device),
        memory_(memory),
        interrupts_(interrupts),
        counters_(counters),
        config_(device.spec()) {}

  PciDevice& device() { return device_; }
  const DeviceSpec& spec() const { return device_.spec(); }
  const ConfigSpace& config() const { return config_; }

  // REQUIRES: inside kConfigBytes. kLater: a function-level reset goes on.
  Answer write_config(std::uint64_t offset, std::span<const std::byte> in, ReplyToken token);

  Answer reset(ResetCause cause, ReplyToken token);

  // The device has given an answer that it had put off.
  void answered();

  // When reset(kDisconnect) is done: lets go of everything that was the VMM's.
  void forget_vmm();

 private:
  void switch_bus_master(bool enabled);

  PciDevice& device_;
  GuestMemory& memory_;
  Interrupts& interrupts_;
  ServerCounters& counters_;
  ConfigSpace config_;
  bool resetting_ = false;
};

}  // namespace paravane::vfio_user
