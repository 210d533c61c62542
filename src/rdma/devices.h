// The RDMA devices of this host, combined from sysfs, the RDMA subsystem's netlink (the NIC of a
// port) and libibverbs (the MTU). Values that none of them reports are left empty.
//
// Blocks for as long as the kernel takes. Nothing is cached between calls.

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
