// check_spec() checks that a PCI function's properties are valid, so that the function can be
// presented to a VMM. It is called once, when a server is created, so that later code need not
// check them again.

#pragma once

#include "base/result.h"
#include "vfio_user/pci_device.h"

namespace paravane::vfio_user {

inline constexpr std::uint64_t kMsixEntryBytes = 16;
inline constexpr std::uint64_t msix_table_bytes(const MsixSpec& msix) {
  return kMsixEntryBytes * msix.vectors;
}
// One bit per vector, in whole 64-bit words.
inline constexpr std::uint64_t msix_pba_bytes(const MsixSpec& msix) {
  return (std::uint64_t{msix.vectors} + 63) / 64 * 8;
}

// Errors: kInvalidArgument, naming the BAR or capability and what is wrong.
Status check_spec(const DeviceSpec& spec);

}  // namespace paravane::vfio_user
