// HostStream: long messages from one host's guest to the other's (RDMA WRITE, or READ
// the other way), as many outstanding as the queue pairs take, from one buffer to its
// peer's, as ib_write_bw does it.
//
// The benchmark's thread.

#pragma once

#include <cstdint>

#include "bench/host_queues.h"
#include "bench/traffic.h"

namespace paravane::bench {

struct StreamSpec {
  std::uint32_t message = 64 << 10;  // bytes
  std::uint32_t queue_pairs = 1;
  std::uint32_t outstanding = 64;  // of each
  bool reads = false;
};

class HostStream {
 public:
  HostStream(HostPair& hosts, const StreamSpec& spec);

  // Moves about so many bytes.
  Traffic move(std::uint64_t bytes);
  // What arrived is what was sent. Ends the program when it is not.
  void check();

 private:
  HostPair& hosts_;
  StreamSpec spec_;
  HostQueues queues_;
};

}  // namespace paravane::bench
