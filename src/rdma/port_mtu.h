// Reads the active MTU of an RDMA port with libibverbs, which is the only source of this value.

#pragma once

#include <cstdint>
#include <string>

namespace paravane::rdma {

// Active MTU in bytes; 0: not known (no such device, or its driver is not installed).
std::uint32_t active_mtu(const std::string& device, std::uint32_t port);

}  // namespace paravane::rdma
