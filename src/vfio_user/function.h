// Function represents the parts of the PCI function that the VMM and the guest control. These are
// configuration space, bus mastering, reset, and disconnection.
//
// Function guarantees an order that other code relies on. It enables or disables guest memory and
// interrupts before it notifies the device, and it discards interrupts that the device raised
// during a reset.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "guestmem/guest_memory.h"
#include "state/reader.h"
#include "state/writer.h"
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

  // REQUIRES: the access is within kConfigBytes. kLater: a function-level reset is in progress.
  Answer write_config(std::uint64_t offset, std::span<const std::byte> in, ReplyToken token);

  Answer reset(ResetCause cause, ReplyToken token);

  // The device has sent a response that it had deferred.
  void answered();

  // Configuration space, and whether a reset waits for the device's response.
  void save(state::Writer& out) const;
  // Notifies nothing. REQUIRES: memory and interrupts were loaded before; whether they are switched
  // on has to agree with configuration space, or the state is refused.
  void load(state::Reader& in);
  bool resetting() const { return resetting_; }
  // Whether configuration space was written since the last call.
  bool take_config_changed() { return std::exchange(config_changed_, false); }

  // Called after reset(kDisconnect): releases everything that belonged to the VMM.
  void forget_vmm();

 private:
  void switch_bus_master(bool enabled);

  PciDevice& device_;
  GuestMemory& memory_;
  Interrupts& interrupts_;
  ServerCounters& counters_;
  ConfigSpace config_;
  bool resetting_ = false;
  bool config_changed_ = false;
};

}  // namespace paravane::vfio_user
