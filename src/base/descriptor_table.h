// reserve_descriptor_table() makes the kernel's table of this process's descriptors large enough
// for so many. The kernel doubles it otherwise whenever it is full, and a process with several
// threads waits for an RCU grace period each time: 5 to 15 ms, for which the VMs would wait.
//
// Before the process has another thread. Costs 8 bytes of the kernel's memory for each.

#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

namespace paravane {

// An adapter has about ten descriptors, and twice as many while it is handed over.
inline constexpr rlim_t kReservedDescriptors = 16384;

// Less if the limit is lower. `any`: an open descriptor.
inline void reserve_descriptor_table(int any) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t last = std::min(limit.rlim_cur, kReservedDescriptors);
  if (last == 0) return;
  // The table does not shrink.
  const int highest = ::fcntl(any, F_DUPFD_CLOEXEC, static_cast<int>(last - 1));
  if (highest >= 0) ::close(highest);
}

}  // namespace paravane
