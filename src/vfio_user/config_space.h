// ConfigSpace implements the 256 bytes of configuration space of a conventional PCI function. They
// contain a type 0 header, the MSI-X capability, and the Advanced Features capability with
// function-level reset. There is no interrupt pin, so the function has MSI-X interrupts only.
//
// Each byte has a mask of the bits that software may change. BAR sizing needs no other code than
// these masks, for accesses of any width.
//
// Owner thread only.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "state/reader.h"
#include "state/writer.h"
#include "vfio_user/pci_device.h"
#include "vfio_user/protocol.h"

namespace paravane::vfio_user {

class ConfigSpace {
 public:
  // REQUIRES: check_spec(spec).
  explicit ConfigSpace(const DeviceSpec& spec);

  // Restores the state after power-on.
  void reset() { bytes_ = initial_; }

  // REQUIRES, for read() and write(): the access is within kConfigBytes.
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  struct Effects {
    bool bus_master_moved = false;
    bool function_reset = false;  // Initiate FLR was written
  };
  Effects write(std::uint64_t offset, std::span<const std::byte> in);

  bool bus_master() const;
  // Whether any BAR was given an address.
  bool has_address() const;

  void save(state::Writer& out) const;
  // A bit that software may not change, and that is not as after power-on, refuses the state.
  void load(state::Reader& in);

 private:
  using Bytes = std::array<std::uint8_t, kConfigBytes>;

  void put(std::size_t at, std::uint64_t value, std::size_t bytes);
  void allow(std::size_t at, std::uint64_t mask, std::size_t bytes);
  void add_bar(std::size_t index, const BarSpec& bar);
  void add_msix(const MsixSpec& msix);
  void add_advanced_features();
  // Reserves space for a capability and links it after the previous ones.
  std::size_t add_capability(std::uint8_t id, std::size_t bytes);

  Bytes initial_{};
  Bytes writable_{};
  Bytes bytes_{};
  std::size_t link_at_;  // where the next capability's address goes
  std::size_t free_at_ = 0x40;
  std::size_t flr_at_ = 0;  // the byte with Initiate FLR
};

}  // namespace paravane::vfio_user
