// GuestMachine: the rest of the VM around one PVRDMA function: what QEMU and a
// PCI root would do between a guest and the device.
//
// It shows the guest's memory to the device (DMA map), carries BAR accesses,
// maps what the device lets it map of BAR2, wires MSI-X vectors to eventfds,
// and keeps the Bus Master Enable bit. A guest reaches the device through this
// and through nothing else.
//
// Owner thread only, except stores in doorbell_page() and take_interrupt().

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <set>

#include "guestmem/guest_memory.h"
#include "testing/fake_guest_ram.h"
#include "vfio_user/interrupts.h"
#include "vfio_user/pci_device.h"

namespace paravane::fake {

class GuestMachine {
 public:
  static constexpr std::uint64_t kBar2Frame = 0xFE000;  // guest-physical address >> 12

  // `turn` lets everybody else get on: it is called while a vCPU waits.
  GuestMachine(GuestMemory& memory, vfio_user::Interrupts& interrupts, std::uint64_t ram_bytes,
               std::function<void()> turn);
  ~GuestMachine();
  GuestMachine(const GuestMachine&) = delete;
  GuestMachine& operator=(const GuestMachine&) = delete;

  // Attaches to the device, maps RAM and doorbell pages, connects vectors.
  void plug(vfio_user::PciDevice& device);
  // The VMM is gone: reset, nothing mapped any more.
  void unplug();
  // Another device, with the same doorbell pages, stands for the one that was plugged.
  void replace_device(vfio_user::PciDevice& device) { device_ = &device; }

  // BAR1. A write returns when the device has answered it, as a vCPU would see.
  std::uint32_t read_register(std::uint32_t offset);
  void write_register(std::uint32_t offset, std::uint32_t value);
  // A write the VMM does not wait for.
  void post_register(std::uint32_t offset, std::uint32_t value);
  // BAR2 as a message (page 0, or any page in trapped mode).
  void write_doorbell(std::uint64_t offset, std::uint32_t value);
  std::uint32_t read_doorbell(std::uint64_t offset);
  // Any access, of any size.
  void write_bar(unsigned bar, std::uint64_t offset, std::span<const std::byte> in);

  // The page of BAR2 if the device lets it be mapped, or nullptr.
  std::byte* doorbell_page(std::uint32_t index);

  void set_bus_master(bool enabled);
  void reset(vfio_user::ResetCause cause);
  // Takes memory out of the DMA map, or shows it (again). map_part() may fail.
  void unmap_part(std::uint64_t address, std::uint64_t bytes);
  Status map_part(std::uint64_t address, std::uint64_t bytes);
  void unmap_ram() { unmap_part(GuestRam::kBase, ram_.size()); }
  void map_ram();

  // How often the vector fired since the last call.
  std::uint64_t take_interrupt(std::uint16_t vector);

  void wait() { turn_(); }
  // The device's late answers arrive here.
  void on_answer(vfio_user::ReplyToken token) { answered_.insert(token); }

  GuestRam& ram() { return ram_; }
  const vfio_user::PciDevice& device() const { return *device_; }

 private:
  void wait_for_device();
  void settle(vfio_user::Answer answer, vfio_user::ReplyToken token);
  vfio_user::ReplyToken next_token() { return vfio_user::ReplyToken{++last_token_}; }
  void map_doorbells();

  GuestMemory& memory_;
  vfio_user::Interrupts& interrupts_;
  GuestRam ram_;
  std::function<void()> turn_;
  vfio_user::PciDevice* device_ = nullptr;  // not owned
  static constexpr std::uint16_t kVectors = 3;
  std::array<UniqueFd, kVectors> eventfds_;
  std::byte* bar2_ = nullptr;
  std::uint64_t bar2_size_ = 0;
  std::uint64_t last_token_ = 0;
  std::set<vfio_user::ReplyToken> answered_;
};

}  // namespace paravane::fake
