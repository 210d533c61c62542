// PciDevice is the interface of a PCI function that vfio_user::Server presents to a VMM. The server
// handles the protocol, configuration space, DMA ranges and interrupts, and the device handles its
// registers. Nothing here is specific to RDMA.
//
// All calls are made on the owner thread and must not block. A call may defer its response. It then
// returns kLater, and the device calls Server::answer(token) soon afterwards. If a VMM gets no
// response for 5 s, it permanently stops using the device.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "guestmem/guest_addr.h"

namespace paravane::vfio_user {

// A page-aligned part of a BAR that the VMM may map into the guest. The guest's loads and stores
// there access shared memory without a message.
struct MmapArea {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

struct BarSpec {
  std::uint64_t size = 0;  // a power of two; 0: no such BAR
  bool is_64_bit = false;  // then the next BAR must be empty
  std::vector<MmapArea> mmap_areas;
  int mmap_fd = -1;  // borrowed; file offset = BAR offset. -1: no area is mapped
};

struct MsixSpec {
  std::uint16_t vectors = 0;
  std::uint8_t table_bar = 0;
  std::uint32_t table_offset = 0;
  std::uint8_t pba_bar = 0;
  std::uint32_t pba_offset = 0;
};

struct DeviceSpec {
  std::uint16_t vendor = 0;
  std::uint16_t device = 0;
  std::uint16_t subsystem_vendor = 0;
  std::uint16_t subsystem = 0;
  std::uint32_t class_code = 0;  // 24 bits: class, subclass, interface
  std::uint8_t revision = 0;
  std::array<BarSpec, 6> bars;
  MsixSpec msix;
};

// Identifies a request whose response was deferred. It is never reused within a connection. A
// response for a connection that has ended is ignored.
enum class ReplyToken : std::uint64_t {};

enum class Answer : std::uint8_t {
  kNow,    // done; the server sends the response
  kLater,  // the device will call Server::answer(token)
};

enum class ResetCause : std::uint8_t {
  kMachineReset,   // VFIO DEVICE_RESET
  kFunctionReset,  // Initiate Function Level Reset in config space
  kDisconnect,     // the VMM is gone; guest memory is about to be unmapped
};

class PciDevice {
 public:
  virtual ~PciDevice() = default;

  // Constant while a server exists.
  virtual const DeviceSpec& spec() const = 0;

  // A VMM has connected; no memory is mapped yet.
  virtual void on_attach() {}

  // An access to a BAR, of 1, 2, 4 or 8 bytes or of a larger span, which is not split. It lies
  // inside the BAR. Accesses to the MSI-X table are handled elsewhere.
  virtual void read_bar(unsigned bar, std::uint64_t offset, std::span<std::byte> out) = 0;

  // `posted`: the VMM does not wait for a response (kLater then means the same as kNow).
  virtual Answer write_bar(unsigned bar, std::uint64_t offset, std::span<const std::byte> in,
                           bool posted, ReplyToken token) = 0;

  // Whether a write has changed what another process needs to go on if this one is killed
  // (AttachmentKeeper), since the last call.
  virtual bool take_setup_changed() { return false; }

  // False: the VMM's next request waits for a later turn, because the device has used up this turn
  // or is still busy. The device requests that turn itself.
  virtual bool takes_requests() const { return true; }

  // The guest's Bus Master Enable bit has changed. GuestMemory was switched before.
  virtual void on_bus_master(bool enabled) = 0;

  // Resets the device. DMA must have stopped before the response. DMA ranges and the connection
  // stay (except after kDisconnect).
  virtual Answer on_reset(ResetCause cause, ReplyToken token) = 0;

  // Ranges were removed from the DMA map. GuestMemory has already forgotten them. The response
  // promises that they are no longer accessed.
  virtual Answer on_dma_unmap(GuestAddr iova, std::uint64_t size, ReplyToken token) = 0;
};

}  // namespace paravane::vfio_user
