// Determines the QEMU program that runs VMs (PARAVANE_QEMU, or the system's), and checks its
// version and features. The program is a setting of the host, not of a VM, because a user who may
// configure a VM must not be able to choose a program.

#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace paravane::vmm {

struct QemuVersion {
  int major_number = 0;
  int minor_number = 0;

  auto operator<=>(const QemuVersion&) const = default;
};
inline constexpr QemuVersion kOldestQemu{10, 1};  // the first with vfio-user-pci

// "QEMU emulator version 10.1.2 (Debian ...)"
std::optional<QemuVersion> parse_qemu_version(std::string_view text);

std::string qemu_program();

// Both functions run the program as the current user, for a bounded time. Errors: kNotFound (no
// such program), kUnsupported (too old, or without the device), kIo; each with the remedy on a
// separate line.
Result<QemuVersion> qemu_version(const std::string& program);  // one that is not too old
Status check_vfio_user(const std::string& program);            // whether it was built with it

}  // namespace paravane::vmm
