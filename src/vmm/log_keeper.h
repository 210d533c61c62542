// Limits the size of a VM's log where no service manager collects QEMU's output. A separate process
// copies the output to a file and drops the older half of the file when it is full. A guest that
// makes QEMU print endlessly therefore cannot fill the file system.

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

// The work of that process: copies all input to an empty file, which gets at most `most` bytes.
void carry_log(int from, int log, std::size_t most);

}  // namespace paravane::vmm
