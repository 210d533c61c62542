// Asks libibverbs about an RDMA port: for the active MTU, of which it is the only source, and for
// what the GID table says, because it reads the table by one call. In sysfs each entry is a file:
// 1024 for rdma_rxe, whatever is in them, and so most of the time of a look at the devices.

#pragma once

#include "rdma/device.h"

namespace paravane::rdma {

// Sets `mtu`, the protocols, and `net_device` if it is empty. Returns false if the GID table cannot
// be read by verbs (no such device, or its driver is not installed); then the protocols are unset.
bool read_by_verbs(Port& port);

}  // namespace paravane::rdma
