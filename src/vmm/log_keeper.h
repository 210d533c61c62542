// Bounds a VM's log. Where no service manager collects QEMU's output, a separate process copies it
// to a file and drops the older half of the file when it is full, so a guest that makes QEMU
// complain endlessly cannot fill the file system.

#pragma once

#include <cstddef>

#include "base/result.h"
#include "base/unique_fd.h"
#include "vmm/account.h"

namespace paravane::vmm {

inline constexpr std::size_t kMaxLogBytes = 1 << 20;

// Starts that process, detached, as the user `account`; it inherits `log` and nothing else. QEMU
// writes to the returned descriptor; the process ends when its last copy is closed.
// Errors: kIo.
Result<UniqueFd> keep_log(const UniqueFd& log, const Account& account);

// What it does: carries all that comes to an empty file of at most `most` bytes.
void carry_log(int from, int log, std::size_t most);

}  // namespace paravane::vmm
