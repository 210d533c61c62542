// AttachedVm: a VM at a real daemon, over its vfio-user socket: a fake guest that
// has loaded its driver and opened nothing.
//
// One thread.

#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "base/unique_fd.h"
#include "guestmem/guest_memory.h"
#include "testing/fake_guest.h"
#include "testing/fake_guest_machine.h"
#include "testing/raw_vfio_client.h"
#include "testing/socket_device.h"
#include "vfio_user/interrupts.h"

namespace paravane::fake {

class AttachedVm {
 public:
  static constexpr std::uint64_t kRam = std::uint64_t{32} << 20;

  // Connects, shows its memory, wires its interrupts. Ends the program when the
  // daemon does not do its part.
  explicit AttachedVm(const std::filesystem::path& socket, std::uint64_t ram_bytes = kRam);

  bool boot(const std::array<std::uint8_t, 6>& mac, std::uint8_t host) {
    return guest_.boot(mac, host);
  }
  FakeGuest& guest() { return guest_; }
  // Sleeps until the daemon interrupts, at most that long.
  void await_interrupt(std::chrono::milliseconds longest);
  // The daemon still answers its commands.
  bool responds();
  // Takes all memory out of the DMA map and shows it again, under whatever goes on.
  void map_anew();

 private:
  void await_answer() const;
  void show_memory();
  void wait();
  void sleep_until_interrupt(std::chrono::milliseconds longest) const;
  void take_interrupts();

  RawVfioClient client_;
  SocketDevice device_;
  GuestMemory memory_;                   // of the machine, which requires one; not read
  vfio_user::Interrupts interrupts_{3};  // towards the machine
  std::array<UniqueFd, 3> vectors_;      // from the daemon
  GuestMachine machine_;
  FakeGuest guest_;
};

}  // namespace paravane::fake
