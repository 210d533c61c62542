// BlockLimits and Provisioning: how long a command may be, and which commands give blocks back
// (SBC-3, the pages B0 and B2 of vital product data).
//
// Both pages are optional; a logical unit without one has the values of the default constructor.
// Numbers are of blocks. Pure functions; any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace paravane::scsi {

struct BlockLimits {
  std::uint32_t most_transfer = 0;     // of one command; 0: it says none
  std::uint32_t optimal_transfer = 0;  // 0: it says none
  std::uint16_t granularity = 0;       // lengths that are multiples of it are fast; 0: it says none
  std::uint32_t most_unmap = 0;        // of one UNMAP, in all; 0: UNMAP is not to be used
  std::uint32_t most_unmap_ranges = 0;
  std::uint32_t unmap_granularity = 0;  // 0: it says none
  std::uint64_t most_write_same = 0;    // 0: it says none

  friend bool operator==(const BlockLimits&, const BlockLimits&) = default;
};

// Refuses a page that ends before the optimal transfer length.
Result<BlockLimits> parse_block_limits(std::span<const std::byte> bytes);

struct Provisioning {
  bool has_unmap = false;
  bool write_same_unmaps = false;
  bool unmapped_reads_zero = false;

  friend bool operator==(const Provisioning&, const Provisioning&) = default;
};
Result<Provisioning> parse_provisioning(std::span<const std::byte> bytes);

}  // namespace paravane::scsi
