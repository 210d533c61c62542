// The memory that is still available to a VM on this host.

#pragma once

#include <cstdint>
#include <string>

namespace paravane::vmm {

struct MemoryLeft {
  std::uint64_t mib = 0;  // 0: not known
  std::string of;         // what has least: "the host", or "cgroup /user.slice"

  friend bool operator==(const MemoryLeft&, const MemoryLeft&) = default;
};

// In that cgroup (version 2) and those above it; empty: ours. `root` is "/" but for tests.
MemoryLeft memory_left(const std::string& cgroup, const std::string& root = "/");

// Free pages of 2 MiB.
std::uint64_t huge_pages_free(const std::string& root = "/");

// Whether we, or what we start, may lock memory without limit.
bool may_lock_memory();

}  // namespace paravane::vmm
