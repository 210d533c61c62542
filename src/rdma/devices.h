// The RDMA devices of this host, from all that knows of them: sysfs, the RDMA
// subsystem's netlink (which NIC belongs to a port) and libibverbs (its MTU). What one of
// them does not tell is left empty.
//
// Blocks for as long as the kernel takes. Nothing is remembered from call to call.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "rdma/device.h"

namespace paravane::rdma {

// A row for each port, in the order of names. A host without RDMA has none.
std::vector<Port> list_ports();

// Errors: kNotFound.
Result<PortCounters> read_counters(const std::string& device, std::uint32_t port);

}  // namespace paravane::rdma
