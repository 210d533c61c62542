// Vm: a VM of the benchmark: the device that the daemon would make for it, and a
// fake guest in place of the VMM and all behind it. It takes its turns as the
// daemon's own VMs do, less the socket.
//
// Made, booted and destroyed on the worker's thread; between, the guest belongs
// to the guest's thread.

#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/timers.h"
#include "base/turn_clock.h"
#include "bench/remote_device.h"
#include "device/pvrdma_device.h"
#include "fabric/directory.h"
#include "guestmem/guest_memory.h"
#include "testing/fake_guest.h"
#include "testing/fake_guest_machine.h"
#include "transport/channel/channel_transport.h"
#include "transport/local/local_transport.h"
#include "transport/roce/roce_transport.h"
#include "vfio_user/interrupts.h"
#include "worker/tenant.h"

namespace paravane::bench {

// What all VMs of a host share.
struct Network {
  transport_local::LocalTransport local;
  fabric::Directory directory{local};
  transport_channel::ChannelTransport* tcp = nullptr;  // to other hosts, where there are any
  // To native endpoints, and the door of the VM's adapter, where there are any.
  transport_roce::RoceTransport* roce = nullptr;
  transport_roce::FrameDoor* door = nullptr;
};

// The MAC address of the adapter with this index.
constexpr std::array<std::uint8_t, 6> mac_of(std::uint32_t index) {
  return {0x00, 0x50, 0x56, 0x01, 0x02, static_cast<std::uint8_t>(index + 1)};
}

class Vm final : public worker::Tenant {
 public:
  // `network` outlives it.
  Vm(std::uint32_t index, std::uint64_t ram_bytes, Network& network);
  ~Vm() override;

  fake::FakeGuest& guest() { return *guest_; }
  // Register accesses of the guest's thread.
  std::uint64_t crossings() const { return remote_->crossings(); }

  // ---- Tenant ----
  bool has_work() const override { return remote_->waiting() || device_->has_work(); }
  Instant next_look() override;
  bool turn(Instant now, verbs::Budget& budget) override;

 private:
  void wait_as_guest();

  Network& network_;
  TurnClock clock_{std::chrono::steady_clock::now()};
  TimerQueue timers_;
  GuestMemory memory_;
  vfio_user::Interrupts interrupts_{3};
  std::thread::id worker_ = std::this_thread::get_id();
  std::unique_ptr<verbs::FabricPort> port_;
  std::unique_ptr<device::PvrdmaDevice> device_;
  std::unique_ptr<RemoteDevice> remote_;
  std::unique_ptr<fake::GuestMachine> machine_;
  std::unique_ptr<fake::FakeGuest> guest_;
};

}  // namespace paravane::bench
