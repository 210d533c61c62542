// Lists the RDMA devices of this host. The values come from sysfs, from the RDMA subsystem's
// netlink (the NIC that belongs to a port) and from libibverbs (the MTU and the protocols). A value
// that cannot be read is empty.
//
// Calls block until the kernel responds. Nothing is cached between calls.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "rdma/device.h"

namespace paravane::rdma {

// Returns all ports, in the order of names; empty on a host without RDMA.
std::vector<Port> list_ports();

// Errors: kNotFound.
Result<PortCounters> read_counters(const std::string& device, std::uint32_t port);

}  // namespace paravane::rdma
