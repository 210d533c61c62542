// TrafficRig: some VMs of one host, as DeviceRig has them, whose turns end as those of the worker
// do when memory runs out: a VM whose turn broke off loses its adapter (worker/vm_port.h), and a
// turn of the transport that broke off is over, and the next one comes (worker/turn_schedule.h).
// Each VM has timers of its own, as there.
//
// A turn of the rig takes no memory itself. Time moves only in run().
//
// Owner thread only.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/timers.h"
#include "base/turn_clock.h"
#include "device/pvrdma_device.h"
#include "fabric/directory.h"
#include "guestmem/guest_memory.h"
#include "testing/fake_guest.h"
#include "testing/fake_guest_machine.h"
#include "transport/local/local_transport.h"
#include "vfio_user/interrupts.h"

namespace paravane::fake {

class TrafficRig {
 public:
  static constexpr unsigned kVms = 4;

  TrafficRig();
  ~TrafficRig();
  TrafficRig(const TrafficRig&) = delete;
  TrafficRig& operator=(const TrafficRig&) = delete;

  FakeGuest& guest(unsigned vm) { return *vms_[vm]->guest; }
  device::PvrdmaDevice& device(unsigned vm) { return *vms_[vm]->device; }
  // Its turn broke off, or its device was fatal.
  bool is_lost(unsigned vm) const { return vms_[vm]->is_lost; }
  // Turns of the transport that broke off.
  unsigned broken_off() const { return broken_off_; }

  // The link of a VM to its switch.
  void set_link(unsigned vm, bool up) { directory_.set_link(verbs::AdapterId{vm}, up); }

  // One turn of each VM, then one of the transport.
  void turn();
  // Until the transport has a message that is not over. False: there is none.
  bool run_into_message();
  // Turns for so long. False: something is busy for ever.
  bool run(Duration duration);

 private:
  struct Vm {
    GuestMemory memory;
    TimerQueue timers;
    std::unique_ptr<verbs::FabricPort> port;
    std::unique_ptr<device::PvrdmaDevice> device;
    std::unique_ptr<GuestMachine> machine;
    std::unique_ptr<FakeGuest> guest;
    bool is_lost = false;
  };
  void add_vm(unsigned index);
  void turn_of(Vm& vm);
  bool busy() const;
  Instant next_wake();

  TurnClock clock_{Instant(std::chrono::hours(1))};
  transport_local::LocalTransport local_;
  fabric::Directory directory_{local_};
  unsigned broken_off_ = 0;
  std::vector<std::unique_ptr<Vm>> vms_;
};

}  // namespace paravane::fake
