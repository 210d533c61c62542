// Determines how much memory of this host is still available to a VM, within the limits of its
// cgroup.

#pragma once

#include <cstdint>
#include <string>

namespace paravane::vmm {

struct MemoryLeft {
  std::uint64_t mib = 0;  // 0: not known
  std::string of;         // what has least: "the host", or "cgroup /user.slice"

  friend bool operator==(const MemoryLeft&, const MemoryLeft&) = default;
};

// Considers the cgroup (version 2; empty: ours) and those above it. `root` is "/" except in tests.
MemoryLeft memory_left(const std::string& cgroup, const std::string& root = "/");

// The number of free pages of 2 MiB.
std::uint64_t huge_pages_free(const std::string& root = "/");

// Whether this process and its children may lock memory without a limit.
bool may_lock_memory();

}  // namespace paravane::vmm
