// Checks whether the current user can open the files that a VM's QEMU will open. The error message
// is clearer than QEMU's own message.

#pragma once

#include <optional>
#include <string>

#include "model/lun_disk.h"
#include "model/vm.h"
#include "vmm/account.h"

namespace paravane::vmm {

struct FileProblem {
  enum class Kind : std::uint8_t { kDisk, kKernel, kInitrd, kSocket, kLun };
  Kind kind = Kind::kDisk;
  std::string file;
  int error = 0;  // errno

  friend bool operator==(const FileProblem&, const FileProblem&) = default;
};

// The first file that cannot be opened; nullopt: all can be. `luns`: the sockets of LUNs, as far as
// they are known.
std::optional<FileProblem> find_file_problem(const model::VmStatus& vm,
                                             const model::LunSockets& luns = {});

// "disk /srv/db1.img: Permission denied". With the user that needs access, if that is the cause.
std::string describe(const FileProblem& problem, const Account& account);

}  // namespace paravane::vmm
