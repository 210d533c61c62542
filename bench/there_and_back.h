// there_and_back(): 8 bytes from one host's guest to the memory of the other's and back. Each guest
// waits for the last byte of its buffer and answers with an RDMA WRITE, as ib_write_lat does it.
//
// The benchmark's thread.

#pragma once

#include <cstdint>

#include "bench/host_queues.h"

namespace paravane::bench {

// Microseconds of one round. REQUIRES: `queues` has a queue pair and a page at each end.
double there_and_back(HostPair& hosts, HostQueues& queues, std::uint64_t rounds);

}  // namespace paravane::bench
