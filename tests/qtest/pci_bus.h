// PciFunction: the device under test as firmware and a driver see it: config
// space by ports 0xcf8 and 0xcfc, BARs where this class puts them, MSI-X.

#pragma once

#include <cstdint>

#include "qtest/qtest_machine.h"

namespace paravane {

class PciFunction {
 public:
  static constexpr std::uint64_t kBar0 = 0xE000'0000;
  static constexpr std::uint64_t kBar1 = 0xE010'0000;
  static constexpr std::uint64_t kBar2 = 0xE020'0000;
  static constexpr std::uint8_t kCommand = 0x04;
  static constexpr std::uint8_t kFirstBar = 0x10;
  static constexpr std::uint8_t kMsixId = 0x11;
  static constexpr std::uint8_t kAdvancedFeaturesId = 0x13;

  // Of slot 16 of the root bus.
  explicit PciFunction(QtestMachine& machine, unsigned function = 0)
      : machine_(machine), function_(function) {}

  std::uint32_t config_read(unsigned bytes, std::uint8_t offset);
  void config_write(unsigned bytes, std::uint8_t offset, std::uint32_t value);
  // Where the capability is; 0: there is none.
  std::uint8_t find_capability(std::uint8_t id);

  // BARs at their places, memory decoding and bus mastering on.
  void enable();

  // Messages of `vector` write `data` to `address`.
  void set_msix_entry(unsigned vector, std::uint64_t address, std::uint32_t data, bool masked);
  void mask_msix(unsigned vector, bool masked);
  void enable_msix(bool enabled);

 private:
  void select(std::uint8_t offset);
  QtestMachine& machine_;
  unsigned function_;
};

}  // namespace paravane
