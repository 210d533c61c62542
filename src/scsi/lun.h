// Lun: the address of a logical unit behind a target, as commands carry it (SAM-5, 4.7).
//
// Of its forms we use the two of a single level: peripheral device addressing, up to 255, and flat
// space addressing, up to 16383. A target may use either for small numbers, so an address is kept
// as the target reported it.
//
// A plain value; any thread.

#pragma once

#include <compare>
#include <cstdint>
#include <optional>

namespace paravane::scsi {

struct Lun {
  static constexpr std::uint32_t kMostPeripheral = 0xFF;
  static constexpr std::uint32_t kMostFlat = 0x3FFF;

  std::uint64_t address = 0;  // the eight bytes, the first of them the highest

  // REQUIRES: number <= kMostFlat.
  static constexpr Lun of(std::uint32_t number) {
    const std::uint64_t flat = number > kMostPeripheral ? 0x4000 : 0;
    return {.address = (flat | number) << 48};
  }
  // nullopt: the address is of several levels, of a bus, or in a form that we do not use.
  constexpr std::optional<std::uint32_t> number() const {
    if ((address & 0xFFFF'FFFF'FFFF) != 0) return std::nullopt;
    const auto first = static_cast<std::uint32_t>(address >> 48);
    if (first <= kMostPeripheral) return first;
    if (first >> 14 == 1) return first & kMostFlat;
    return std::nullopt;
  }

  friend constexpr auto operator<=>(const Lun&, const Lun&) = default;
};

}  // namespace paravane::scsi
