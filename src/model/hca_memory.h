// HcaMemory is the memory that the RDMA adapter (host channel adapter) of channels to other hosts
// locks for its buffers, and how much of it this host's daemon may lock.
//
// Plain values.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace paravane::model {

struct HcaMemory {
  std::string device{};                 // Linux's name: "mlx5_0"; empty: channels are to use none
  std::uint64_t bytes_per_host = 0;     // for each other host to which there is a trunk over it
  bool locks_vms = false;               // the memory of VMs that send long messages, besides
  std::optional<std::uint64_t> most{};  // bytes that the daemon may lock; nullopt: no limit

  friend bool operator==(const HcaMemory&, const HcaMemory&) = default;
};

}  // namespace paravane::model
