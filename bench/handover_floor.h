// handover_floor(): how long any hand-over between two processes takes at least on this machine,
// where the first has to have ended before the second may go on.

#pragma once

#include <cstdint>

namespace paravane::bench {

struct HandoverSize {
  unsigned parcels = 1;             // one for each VM
  unsigned descriptors = 0;         // of each parcel, besides its bytes
  std::uint64_t parcel_bytes = 0;   // of each
  std::uint64_t private_bytes = 0;  // of the first process's own memory, which are given back
  std::uint64_t shared_bytes = 0;   // of files in memory that it has mapped and touched
};

// Milliseconds from the first parcel until the second process may go on. The first writes the bytes
// of each parcel to a file in memory and sends it, with descriptors, over a socket pair; the second
// reads them and tells a third; that has the first exit, waits for its end, and tells the second.
double handover_floor(const HandoverSize& size);

}  // namespace paravane::bench
