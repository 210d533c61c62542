// HostileVm: two VMs of one host for fuzzers. The input plays the first one's
// guest; the second one only wants to be left in peace, and is asked about it at
// the end. Made anew for every input, so that a finding can be repeated.
//
// What must hold whatever the input does: the worker comes to rest, the second
// VM's traffic flows, and after a reset nothing of the first is left: no object,
// no timer, no access to its memory.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fuzz_bytes.h"
#include "promise.h"
#include "testing/device_rig.h"
#include "testing/fake_guest_end.h"

namespace paravane::fake {

class HostileVm {
 public:
  HostileVm() : rig_(options()), bystander_a_(rig_.guest(1)), bystander_b_(rig_.guest(1)) {
    require(connect(bystander_a_, bystander_b_));
  }

  DeviceRig& rig() { return rig_; }
  FakeGuest& guest() { return rig_.guest(0); }
  GuestMachine& machine() { return rig_.machine(0); }

  // Time for the worker, and for the guest's interrupt handlers.
  void pass(std::uint32_t microseconds) {
    rig_.advance(std::chrono::microseconds(microseconds));
    guest().handle_interrupts();
    machine().take_interrupt(kVectorResponse);
  }

  // An address worth trying: a page that exists, one that does not, a crooked one.
  std::uint64_t address(FuzzBytes& input) {
    const std::uint64_t end = GuestRam::kBase + machine().ram().size();
    switch (input.below(8)) {
      case 0: return 0;
      case 1: return end;
      case 2: return end - kPage;
      case 3: return GuestRam::kBase + input.u16();
      case 4: return ~std::uint64_t{0} << 12;
      case 5: return input.u64();
      default: return GuestRam::kBase + std::uint64_t{input.u8()} * kPage;
    }
  }

  // Everything must hold now.
  void finish() {
    require(rig_.device(0).fatal_reason().empty());
    require(rig_.run_until_idle(200'000));
    require(bystander_b_.receive(1));
    require(bystander_a_.send(2, 0, 64));
    rig_.settle();
    pvrdma_cqe completion{};
    require(bystander_b_.cq().take(completion) && completion.status == PVRDMA_WC_SUCCESS);
    require(bystander_a_.cq().take(completion) && completion.status == PVRDMA_WC_SUCCESS);
    machine().reset(vfio_user::ResetCause::kMachineReset);
    const device::DeviceObjects left = rig_.device(0).objects();
    require(left.contexts + left.protection_domains + left.memory_regions == 0);
    require(left.completion_queues + left.queue_pairs + left.gids == 0);
    require(left.shared_receive_queues == 0);
    guest().forget_everything();
    rig_.advance(std::chrono::milliseconds(5));
    require(machine().ram().intact_after_free());
    require(rig_.device(0).next_look() == kNever);
  }

 private:
  static RigOptions options() {
    static vfio_user::Interrupts kept[2]{vfio_user::Interrupts(3), vfio_user::Interrupts(3)};
    RigOptions options;
    options.interrupts = {&kept[0], &kept[1]};
    options.guest.on_surprise = [](const char*) {};  // the guest is the hostile one
    options.guest.patience_turns = 50;
    options.ram_bytes = 64 << 20;
    options.config.limits.queue_pairs = 64;
    options.config.limits.completion_queues = 64;
    options.config.limits.shared_receive_queues = 16;
    options.config.limits.memory_regions = 64;
    options.config.limits.protection_domains = 64;
    options.config.limits.contexts = 8;
    options.config.limits.gids = 16;
    return options;
  }

  DeviceRig rig_;
  FakeEnd bystander_a_;
  FakeEnd bystander_b_;
};

}  // namespace paravane::fake
