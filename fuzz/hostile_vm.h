// HostileVm: two VMs of one host for fuzzers. The input plays the first one's
// guest; the second one only wants to be left in peace, and is asked about it at
// the end. Made anew for every input, so that a finding can be repeated.
//
// What must hold whatever the input does: the worker comes to rest, the second
// VM's traffic flows, and after a reset nothing of the first is left: no object,
// no timer, no access to its memory.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "testing/device_rig.h"
#include "testing/fake_guest_end.h"

namespace paravane::fake {

// Any bytes as numbers; zeros when they are used up.
class FuzzBytes {
 public:
  FuzzBytes(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}
  bool at_end() const { return rest_.empty(); }
  std::uint8_t u8() { return static_cast<std::uint8_t>(number(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  std::uint32_t below(std::uint32_t limit) { return u8() % limit; }

 private:
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    const std::size_t taken = std::min(bytes, rest_.size());
    std::memcpy(&value, rest_.data(), taken);
    rest_ = rest_.subspan(taken);
    return value;
  }
  std::span<const std::uint8_t> rest_;
};

// For seeds.
class SeedBytes {
 public:
  SeedBytes& u8(std::uint32_t value) { return put(value, 1); }
  SeedBytes& u16(std::uint32_t value) { return put(value, 2); }
  SeedBytes& u32(std::uint32_t value) { return put(value, 4); }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  SeedBytes& put(std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
      bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    }
    return *this;
  }
  std::vector<std::uint8_t> bytes_;
};

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
  static std::uint32_t number(FuzzBytes& input) {
    static constexpr std::uint32_t kExtremes[] = {
        0,    1,    2,          15,         16,         17,      63,   64,
        4095, 4096, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x40000, 0x100};
    const std::uint32_t pick = input.below(32);
    return pick < std::size(kExtremes) ? kExtremes[pick] : input.u32();
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

  static void require(bool promise) {
    if (!promise) std::abort();
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
