// DeviceRig: some VMs of one host, with the real devices, local path, directory
// and timers, and a fake guest in each; stepped by hand, in a time of its own.
//
// A step is one turn of the worker. Time moves only with advance(), which makes
// a turn whenever a timer or a look at the doorbell pages is due, as the worker
// would wake up for it.
//
// Owner thread only; the guests' user queues may be driven from another one.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/timers.h"
#include "base/turn_clock.h"
#include "base/unique_fd.h"
#include "device/journal/kernel_journal.h"
#include "device/pvrdma_device.h"
#include "fabric/directory.h"
#include "guestmem/guest_memory.h"
#include "testing/fake_guest.h"
#include "testing/fake_guest_machine.h"
#include "transport/local/local_transport.h"
#include "vfio_user/interrupts.h"

namespace paravane::fake {

unsigned hand_over_of_environment();

struct RigOptions {
  unsigned vms = 2;
  device::DeviceConfig config;  // of every VM; name and MAC are filled in
  GuestOptions guest;
  std::uint64_t ram_bytes = std::uint64_t{512} << 20;  // sparse
  GuestMemory::Limits memory;                          // of every VM
  bool boot = true;                                    // false: the test probes itself
  // Each device is handed over after so many turns in which one had work, or many more in which
  // none had, over and over; 0: never. At first what the environment's PARAVANE_HAND_OVER_EVERY
  // says, so that all tests can be run with it.
  unsigned hand_over_every = hand_over_of_environment();
  bool journals = false;  // each device has a journal of what the guest's kernel has under way
  // Made by the rig when empty. Fuzzers lend theirs, one per VM: closing one takes
  // the kernel some 30 ms.
  std::vector<vfio_user::Interrupts*> interrupts;
  // What each device may do in one turn, as the worker grants it.
  verbs::Budget budget{.bytes = 4 << 20, .operations = 256};
};

class DeviceRig {
 public:
  explicit DeviceRig(const RigOptions& options = {});
  ~DeviceRig();
  DeviceRig(const DeviceRig&) = delete;
  DeviceRig& operator=(const DeviceRig&) = delete;

  FakeGuest& guest(unsigned vm = 0) { return *vms_[vm]->guest; }
  GuestMachine& machine(unsigned vm = 0) { return *vms_[vm]->machine; }
  device::PvrdmaDevice& device(unsigned vm = 0) { return *vms_[vm]->device; }
  vfio_user::Interrupts& interrupts(unsigned vm = 0) { return *vms_[vm]->interrupts; }
  GuestMemory& memory(unsigned vm = 0) { return vms_[vm]->memory; }
  // REQUIRES: the rig's journals.
  const device::KernelJournal& journal(unsigned vm = 0) const { return *vms_[vm]->journal; }
  const std::array<std::uint8_t, 6>& mac(unsigned vm = 0) const { return vms_[vm]->mac; }
  unsigned size() const { return static_cast<unsigned>(vms_.size()); }
  bool boot(unsigned vm);

  Instant now() const { return clock_.now; }
  const TurnClock& turn_clock() const { return clock_; }
  void set_now(Instant now) { clock_.now = now; }
  TimerQueue& timers() { return timers_; }
  transport_local::LocalTransport& local() { return local_; }

  // One turn of the worker, now or a little later.
  void step();
  void turn(Duration later) {
    clock_.now += later;
    step();
  }
  // Turns until nothing has work and no look is due. False: still busy after
  // `limit` turns.
  bool run_until_idle(unsigned limit = 100'000);
  // Lets time pass, with every turn that falls due; then run_until_idle().
  void advance(Duration duration);
  // Long enough for every doorbell page to be looked at.
  void settle();
  // When the worker would next wake up.
  Instant next_wake();
  std::uint64_t turns() const { return turns_; }
  // The least that a device left of its budget in one turn; below zero: what it took
  // too much.
  const verbs::Budget& least_left() const { return least_left_; }

  // Its link to the switch comes up or goes down.
  void set_link(unsigned vm, bool up);

  // The device is saved and ends, and another one takes its place, of which the guest must notice
  // nothing. References to the old one, its adapter and its counters end with it.
  // Returns the state. The rig ends the program if the state is refused, or if that of the new
  // device is not the same to the byte.
  std::vector<std::byte> hand_over(unsigned vm);
  // The process of the device was killed, and another one goes on with what was kept.
  void kill(unsigned vm);
  // Loads a state into the device's place. If it is refused, the device is lost, until a state is
  // loaded that is not.
  Status replace(unsigned vm, std::span<const std::byte> state);
  std::vector<std::byte> saved(unsigned vm);
  // Devices that take over from now on have these limits; what is held already may be as much as
  // before.
  void lower_limits(unsigned vm, const device::DeviceLimits& limits);

  // A VMM that goes away, and one that comes back with an empty machine.
  void unplug(unsigned vm);

 private:
  struct Vm {
    explicit Vm(const GuestMemory::Limits& limits) : memory(limits) {}

    GuestMemory memory;
    std::unique_ptr<vfio_user::Interrupts> own_interrupts;
    vfio_user::Interrupts* interrupts = nullptr;
    std::array<std::uint8_t, 6> mac{};
    device::DeviceConfig config;
    std::unique_ptr<verbs::FabricPort> port;
    std::optional<device::KernelJournal> journal;
    std::unique_ptr<device::PvrdmaDevice> device;
    std::unique_ptr<GuestMachine> machine;
    std::unique_ptr<FakeGuest> guest;
    bool plugged = true;
  };
  void add_vm(unsigned index, const RigOptions& options);
  void make_device(unsigned index, UniqueFd doorbell_file = {});
  void end_device(Vm& vm);
  void hand_journal_over(Vm& vm);
  bool busy() const;
  bool has_work() const;
  bool hands_over_after(bool worked);

  TurnClock clock_{Instant(std::chrono::hours(1))};
  TimerQueue timers_;
  transport_local::LocalTransport local_;
  fabric::Directory directory_{local_};
  verbs::Budget budget_;
  verbs::Budget least_left_;
  Duration ceiling_;
  unsigned hand_over_every_;
  std::uint64_t turns_ = 0;
  bool killed_ = false;           // within kill()
  unsigned since_hand_over_ = 0;  // a turn with work counts as several without
  std::vector<std::unique_ptr<Vm>> vms_;
};

}  // namespace paravane::fake
