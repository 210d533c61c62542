// ConfigSpace: the 256 bytes of a conventional PCI function.
//
// A type 0 header, the MSI-X capability, and Advanced Features with function-level reset. Every
// byte has a mask of the bits that software may change; that alone makes BAR sizing work for
// accesses of any width. There is no interrupt pin: MSI-X only.
//
// Owner thread only.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "vfio_user/pci_device.h"
#include "vfio_user/protocol.h"

namespace paravane::vfio_user {

class ConfigSpace {
 public:
  // REQUIRES: check_spec(spec).
  explicit ConfigSpace(const DeviceSpec& spec);

  // As after power-on.
  void reset() { bytes_ = initial_; }

  // REQUIRES: inside kConfigBytes, for both.
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  struct Effects {
    bool bus_master_moved = false;
    bool function_reset = false;  // Initiate FLR was written
  };
  Effects write(std::uint64_t offset, std::span<const std::byte> in);

  bool bus_master() const;

 private:
  using Bytes = std::array<std::uint8_t, kConfigBytes>;

  void put(std::size_t at, std::uint64_t value, std::size_t bytes);
  void allow(std::size_t at, std::uint64_t mask, std::size_t bytes);
  void add_bar(std::size_t index, const BarSpec& bar);
  void add_msix(const MsixSpec& msix);
  void add_advanced_features();
  // Room for a capability, linked in behind the ones before.
  std::size_t add_capability(std::uint8_t id, std::size_t bytes);

  Bytes initial_{};
  Bytes writable_{};
  Bytes bytes_{};
  std::size_t link_at_;  // where the next capability's address goes
  std::size_t free_at_ = 0x40;
  std::size_t flr_at_ = 0;  // the byte with Initiate FLR
};

}  // namespace paravane::vfio_user
