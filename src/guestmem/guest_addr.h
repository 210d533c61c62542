// GuestAddr: a DMA address (IOVA) as the guest specifies it. It is a separate type, so that it
// cannot be confused with a host pointer. There is no conversion between the two.

#pragma once

#include <compare>
#include <cstdint>

namespace paravane {

inline constexpr std::uint64_t kPageBytes = 4096;  // PVRDMA guests have 4 KiB pages only

constexpr bool page_aligned(std::uint64_t value) {
  return value % kPageBytes == 0;
}

struct GuestAddr {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(GuestAddr, GuestAddr) = default;
};

}  // namespace paravane
